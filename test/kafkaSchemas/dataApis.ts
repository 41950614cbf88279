import { type FetchAnswer, type FetchQuestion, fetchApi } from '../../engine/adapters/kafka/frames/fetch.ts'
import {
  type ListOffsetsAnswer,
  type ListOffsetsQuestion,
  listOffsetsApi,
} from '../../engine/adapters/kafka/frames/listOffsets.ts'
import { type ProduceAnswer, type ProduceQuestion, produceApi } from '../../engine/adapters/kafka/frames/produce.ts'
import { type Counterpart, each, endpointsOf, leaderOf, named, namedByKafka, ourTopic } from './counterpart.ts'
import type { Struct } from './interpreter.ts'

export const fetch: Counterpart<FetchQuestion, FetchAnswer> = {
  api: fetchApi,
  question: dice => ({
    maxWaitMs: dice.int(32),
    minBytes: dice.int(32),
    maxBytes: dice.int(32),
    isolation: dice.yes() ? 0 : 1,
    rack: dice.text(),
    topics: dice.list(() => ({
      ...ourTopic(dice),
      partitions: dice.list(() => ({
        partition: dice.int(32),
        leaderEpoch: dice.int(32),
        offset: dice.long(),
        lastFetchedEpoch: dice.int(32),
        maxBytes: dice.int(32),
      })),
    })),
  }),
  asked: (q, version) => ({
    ...(version <= 14 ? { ReplicaId: -1 } : {}),
    MaxWaitMs: q.maxWaitMs,
    MinBytes: q.minBytes,
    MaxBytes: q.maxBytes,
    IsolationLevel: q.isolation,
    SessionId: 0,
    SessionEpoch: -1,
    Topics: q.topics.map(t => ({
      ...named('Topic', t, version >= 13),
      Partitions: t.partitions.map(p => ({
        Partition: p.partition,
        CurrentLeaderEpoch: p.leaderEpoch,
        FetchOffset: p.offset,
        LastFetchedEpoch: p.lastFetchedEpoch,
        LogStartOffset: -1n,
        PartitionMaxBytes: p.maxBytes,
      })),
    })),
    ForgottenTopicsData: [],
    RackId: q.rack,
  }),
  answered: (a, version) => ({
    throttleMs: a['ThrottleTimeMs'],
    error: a['ErrorCode'],
    sessionId: a['SessionId'],
    topics: each(a['Responses'], t => ({
      ...namedByKafka('Topic', t, version >= 13),
      partitions: each(t['Partitions'], fetched),
    })),
    endpoints: endpointsOf(a),
  }),
}

function fetched(p: Struct) {
  const diverging = p['DivergingEpoch'] as Struct | undefined
  const aborted = p['AbortedTransactions'] as Struct[] | null
  return {
    partition: p['PartitionIndex'],
    error: p['ErrorCode'],
    highWatermark: p['HighWatermark'],
    lastStable: p['LastStableOffset'],
    logStart: p['LogStartOffset'],
    aborted:
      aborted && each(aborted, entry => ({ producerId: entry['ProducerId'], firstOffset: entry['FirstOffset'] })),
    preferredReplica: p['PreferredReadReplica'],
    records: p['Records'],
    diverging: diverging ? { epoch: diverging['Epoch'], endOffset: diverging['EndOffset'] } : null,
    leader: leaderOf(p),
  }
}

export const produce: Counterpart<ProduceQuestion, ProduceAnswer> = {
  api: produceApi,
  question: dice => ({
    transactionalId: dice.orNull(dice.text),
    timeoutMs: dice.int(32),
    topics: dice.list(() => ({
      ...ourTopic(dice),
      partitions: dice.list(() => ({ partition: dice.int(32), records: dice.bytes() })),
    })),
  }),
  asked: (q, version) => ({
    TransactionalId: q.transactionalId,
    Acks: -1,
    TimeoutMs: q.timeoutMs,
    TopicData: q.topics.map(t => ({
      ...named('Name', t, version >= 13),
      PartitionData: t.partitions.map(p => ({ Index: p.partition, Records: p.records })),
    })),
  }),
  answered: (a, version) => ({
    topics: each(a['Responses'], t => ({
      ...namedByKafka('Name', t, version >= 13),
      partitions: each(t['PartitionResponses'], p => ({
        partition: p['Index'],
        error: p['ErrorCode'],
        baseOffset: p['BaseOffset'],
        appendTimeMs: p['LogAppendTimeMs'],
        logStart: p['LogStartOffset'],
        recordErrors: each(p['RecordErrors'], e => ({
          batchIndex: e['BatchIndex'],
          message: e['BatchIndexErrorMessage'],
        })),
        message: p['ErrorMessage'],
        leader: leaderOf(p),
      })),
    })),
    throttleMs: a['ThrottleTimeMs'],
    endpoints: endpointsOf(a),
  }),
}

export const listOffsets: Counterpart<ListOffsetsQuestion, ListOffsetsAnswer> = {
  api: listOffsetsApi,
  question: dice => ({
    isolation: dice.yes() ? 0 : 1,
    topics: dice.list(() => ({
      topic: dice.text(),
      partitions: dice.list(() => ({ partition: dice.int(32), leaderEpoch: dice.int(32), timeMs: dice.long() })),
    })),
  }),
  asked: q => ({
    ReplicaId: -1,
    IsolationLevel: q.isolation,
    Topics: q.topics.map(t => ({
      Name: t.topic,
      Partitions: t.partitions.map(p => ({
        PartitionIndex: p.partition,
        CurrentLeaderEpoch: p.leaderEpoch,
        Timestamp: p.timeMs,
      })),
    })),
  }),
  answered: a => ({
    throttleMs: a['ThrottleTimeMs'],
    topics: each(a['Topics'], t => ({
      topic: t['Name'],
      partitions: each(t['Partitions'], p => ({
        partition: p['PartitionIndex'],
        error: p['ErrorCode'],
        timeMs: p['Timestamp'],
        offset: p['Offset'],
        leaderEpoch: p['LeaderEpoch'],
      })),
    })),
  }),
}
