import {
  type CommitTopic,
  offsetCommitApi,
  type PartitionErrors,
} from '../../engine/adapters/kafka/frames/offsetCommit.ts'
import {
  type OffsetFetchAnswer,
  type OffsetFetchQuestion,
  offsetFetchApi,
} from '../../engine/adapters/kafka/frames/offsetFetch.ts'
import {
  type AddPartitionsQuestion,
  addOffsetsToTxnApi,
  addPartitionsToTxnApi,
  type EndTxnAnswer,
  endTxnApi,
  type Owner,
  type TxnOffsetCommitQuestion,
  txnOffsetCommitApi,
} from '../../engine/adapters/kafka/frames/transactions.ts'
import { type Counterpart, each } from './counterpart.ts'
import type { Dice } from './dice.ts'
import type { Struct } from './interpreter.ts'

const commits = (dice: Dice): CommitTopic[] =>
  dice.list(() => ({
    topic: dice.text(),
    partitions: dice.list(() => ({
      partition: dice.int(32),
      offset: dice.long(),
      leaderEpoch: dice.int(32),
      metadata: dice.orNull(dice.text),
    })),
  }))

const kafkasCommits = (topics: CommitTopic[]) =>
  topics.map(t => ({
    Name: t.topic,
    Partitions: t.partitions.map(p => ({
      PartitionIndex: p.partition,
      CommittedOffset: p.offset,
      CommittedLeaderEpoch: p.leaderEpoch,
      CommittedMetadata: p.metadata,
    })),
  }))

const committed = (a: Struct) => ({
  throttleMs: a['ThrottleTimeMs'],
  topics: each(a['Topics'], t => ({
    topic: t['Name'],
    partitions: each(t['Partitions'], p => ({ partition: p['PartitionIndex'], error: p['ErrorCode'] })),
  })),
})

const owner = (dice: Dice): Owner => ({
  transactionalId: dice.text(),
  producerId: dice.long(),
  producerEpoch: dice.int(16),
})
const kafkasOwner = (q: Owner) => ({
  TransactionalId: q.transactionalId,
  ProducerId: q.producerId,
  ProducerEpoch: q.producerEpoch,
})
const nobody = { MemberId: '', GroupInstanceId: null }

export const offsetCommit: Counterpart<{ group: string; topics: CommitTopic[] }, PartitionErrors> = {
  api: offsetCommitApi,
  question: dice => ({ group: dice.text(), topics: commits(dice) }),
  asked: q => ({ GroupId: q.group, GenerationIdOrMemberEpoch: -1, ...nobody, Topics: kafkasCommits(q.topics) }),
  answered: committed,
}

export const offsetFetch: Counterpart<OffsetFetchQuestion, OffsetFetchAnswer> = {
  api: offsetFetchApi,
  question: dice => ({
    groups: dice.list(() => ({
      group: dice.text(),
      topics: dice.orNull(() => dice.list(() => ({ topic: dice.text(), partitions: dice.list(() => dice.int(32)) }))),
    })),
    requireStable: dice.yes(),
  }),
  asked: q => ({
    Groups: q.groups.map(g => ({
      GroupId: g.group,
      Topics: g.topics === null ? null : g.topics.map(t => ({ Name: t.topic, PartitionIndexes: t.partitions })),
    })),
    RequireStable: q.requireStable,
  }),
  answered: a => ({
    throttleMs: a['ThrottleTimeMs'],
    groups: each(a['Groups'], g => ({
      group: g['GroupId'],
      topics: each(g['Topics'], t => ({
        topic: t['Name'],
        partitions: each(t['Partitions'], p => ({
          partition: p['PartitionIndex'],
          offset: p['CommittedOffset'],
          leaderEpoch: p['CommittedLeaderEpoch'],
          metadata: p['Metadata'],
          error: p['ErrorCode'],
        })),
      })),
      error: g['ErrorCode'],
    })),
  }),
}

export const addPartitions: Counterpart<AddPartitionsQuestion, PartitionErrors> = {
  api: addPartitionsToTxnApi,
  question: dice => ({
    ...owner(dice),
    topics: dice.list(() => ({ topic: dice.text(), partitions: dice.list(() => dice.int(32)) })),
  }),
  asked: q => ({
    V3AndBelowTransactionalId: q.transactionalId,
    V3AndBelowProducerId: q.producerId,
    V3AndBelowProducerEpoch: q.producerEpoch,
    V3AndBelowTopics: q.topics.map(t => ({ Name: t.topic, Partitions: t.partitions })),
  }),
  answered: a => ({
    throttleMs: a['ThrottleTimeMs'],
    topics: each(a['ResultsByTopicV3AndBelow'], t => ({
      topic: t['Name'],
      partitions: each(t['ResultsByPartition'], p => ({
        partition: p['PartitionIndex'],
        error: p['PartitionErrorCode'],
      })),
    })),
  }),
}

export const addOffsets: Counterpart<Owner & { group: string }, { throttleMs: number; error: number }> = {
  api: addOffsetsToTxnApi,
  question: dice => ({ ...owner(dice), group: dice.text() }),
  asked: q => ({ ...kafkasOwner(q), GroupId: q.group }),
  answered: a => ({ throttleMs: a['ThrottleTimeMs'], error: a['ErrorCode'] }),
}

export const endTxn: Counterpart<Owner & { commit: boolean }, EndTxnAnswer> = {
  api: endTxnApi,
  question: dice => ({ ...owner(dice), commit: dice.yes() }),
  asked: q => ({ ...kafkasOwner(q), Committed: q.commit }),
  answered: (a, version) => ({
    throttleMs: a['ThrottleTimeMs'],
    error: a['ErrorCode'],
    next: version >= 5 ? { producerId: a['ProducerId'], producerEpoch: a['ProducerEpoch'] } : null,
  }),
}

export const txnOffsetCommit: Counterpart<TxnOffsetCommitQuestion, PartitionErrors> = {
  api: txnOffsetCommitApi,
  question: dice => ({ ...owner(dice), group: dice.text(), topics: commits(dice) }),
  asked: q => ({ ...kafkasOwner(q), GroupId: q.group, GenerationId: -1, ...nobody, Topics: kafkasCommits(q.topics) }),
  answered: committed,
}
