import {
  type AlterConfigsAnswer,
  type AlterConfigsQuestion,
  incrementalAlterConfigsApi,
} from '../../engine/adapters/kafka/frames/alterConfigs.ts'
import { type ApiVersionsAnswer, apiVersionsApi } from '../../engine/adapters/kafka/frames/apiVersions.ts'
import {
  type FindCoordinatorAnswer,
  type FindCoordinatorQuestion,
  findCoordinatorApi,
} from '../../engine/adapters/kafka/frames/findCoordinator.ts'
import {
  type InitProducerIdAnswer,
  type InitProducerIdQuestion,
  initProducerIdApi,
} from '../../engine/adapters/kafka/frames/initProducerId.ts'
import { type MetadataAnswer, type MetadataQuestion, metadataApi } from '../../engine/adapters/kafka/frames/metadata.ts'
import { type Counterpart, each, kafkasId, ourId } from './counterpart.ts'

export const metadata: Counterpart<MetadataQuestion, MetadataAnswer> = {
  api: metadataApi,
  question: dice => ({ topics: dice.orNull(() => dice.list(dice.text)) ?? 'all' }),
  asked: (q, version) => ({
    Topics: q.topics === 'all' ? null : q.topics.map(topic => ({ TopicId: kafkasId(''), Name: topic })),
    AllowAutoTopicCreation: false,
    ...(version === 10 ? { IncludeClusterAuthorizedOperations: false } : {}),
    IncludeTopicAuthorizedOperations: false,
  }),
  answered: a => ({
    throttleMs: a['ThrottleTimeMs'],
    brokers: each(a['Brokers'], b => ({ id: b['NodeId'], host: b['Host'], port: b['Port'], rack: b['Rack'] })),
    clusterId: a['ClusterId'],
    controller: a['ControllerId'],
    topics: each(a['Topics'], t => ({
      error: t['ErrorCode'],
      topic: t['Name'],
      topicId: ourId(t['TopicId']),
      internal: t['IsInternal'],
      partitions: each(t['Partitions'], p => ({
        error: p['ErrorCode'],
        partition: p['PartitionIndex'],
        leader: p['LeaderId'],
        leaderEpoch: p['LeaderEpoch'],
        replicas: p['ReplicaNodes'],
        inSync: p['IsrNodes'],
        offline: p['OfflineReplicas'],
      })),
    })),
  }),
}

export const apiVersions: Counterpart<{ software: string; version: string }, ApiVersionsAnswer> = {
  api: apiVersionsApi,
  question: dice => ({ software: dice.text(), version: dice.text() }),
  asked: q => ({ ClientSoftwareName: q.software, ClientSoftwareVersion: q.version }),
  answered: a => {
    // A broker that refuses the version answers in version 0: nothing behind the error is read.
    if (a['ErrorCode'] !== 0) return { error: a['ErrorCode'], apis: [], throttleMs: 0, features: [] }
    return {
      error: 0,
      apis: each(a['ApiKeys'], api => ({ key: api['ApiKey'], min: api['MinVersion'], max: api['MaxVersion'] })),
      throttleMs: a['ThrottleTimeMs'],
      features: each(a['FinalizedFeatures'], f => ({
        name: f['Name'],
        min: f['MinVersionLevel'],
        max: f['MaxVersionLevel'],
      })),
    }
  },
}

export const findCoordinator: Counterpart<FindCoordinatorQuestion, FindCoordinatorAnswer> = {
  api: findCoordinatorApi,
  question: dice => ({ type: dice.yes() ? 0 : 1, keys: dice.list(dice.text) }),
  asked: q => ({ KeyType: q.type, CoordinatorKeys: q.keys }),
  answered: a => ({
    throttleMs: a['ThrottleTimeMs'],
    coordinators: each(a['Coordinators'], c => ({
      key: c['Key'],
      node: c['NodeId'],
      host: c['Host'],
      port: c['Port'],
      error: c['ErrorCode'],
      message: c['ErrorMessage'],
    })),
  }),
}

export const initProducerId: Counterpart<InitProducerIdQuestion, InitProducerIdAnswer> = {
  api: initProducerIdApi,
  question: dice => ({
    transactionalId: dice.orNull(dice.text),
    timeoutMs: dice.int(32),
    producerId: dice.long(),
    producerEpoch: dice.int(16),
  }),
  asked: q => ({
    TransactionalId: q.transactionalId,
    TransactionTimeoutMs: q.timeoutMs,
    ProducerId: q.producerId,
    ProducerEpoch: q.producerEpoch,
  }),
  answered: a => ({
    throttleMs: a['ThrottleTimeMs'],
    error: a['ErrorCode'],
    producerId: a['ProducerId'],
    producerEpoch: a['ProducerEpoch'],
  }),
}

export const alterConfigs: Counterpart<AlterConfigsQuestion, AlterConfigsAnswer> = {
  api: incrementalAlterConfigsApi,
  question: dice => ({
    topics: dice.list(() => ({
      topic: dice.text(),
      changes: dice.list(() => ({ name: dice.text(), value: dice.orNull(dice.text) })),
    })),
  }),
  asked: q => ({
    Resources: q.topics.map(t => ({
      ResourceType: 2,
      ResourceName: t.topic,
      Configs: t.changes.map(c => ({ Name: c.name, ConfigOperation: c.value === null ? 1 : 0, Value: c.value })),
    })),
    ValidateOnly: false,
  }),
  answered: a => ({
    throttleMs: a['ThrottleTimeMs'],
    topics: each(a['Responses'], r => ({
      error: r['ErrorCode'],
      message: r['ErrorMessage'],
      topic: r['ResourceName'],
    })),
  }),
}
