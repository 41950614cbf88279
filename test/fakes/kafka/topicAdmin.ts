import { type AdminAsk, adminFault, createAsk, growAsk } from '../../../engine/adapters/kafka/decide/adminFault.ts'
import type { TopicAdmin } from '../../../engine/adapters/kafka/topicAdmin.ts'
import type { AdminApi, FakeState } from './state.ts'
import { configFault, configsOf } from './topicConfigs.ts'

/** In the place of kafkajs, which the fake brokers do not speak to; its faults are those of the real one. */
export function fakeTopicAdmin(state: FakeState): TopicAdmin {
  /** A write is asked for: it is counted, and refused when a vice or the cluster wants that. */
  const write = (api: AdminApi, ask: AdminAsk, refused: number) => {
    state.adminWrites++
    const kafka = state.denied.get(api) || refused
    if (kafka !== 0) throw adminFault(state.clusterId, ask, { kafka, text: null })
  }
  const admin: Pick<TopicAdmin, 'createTopic' | 'growTopic' | 'topicConfigs'> = {
    async createTopic(topic, partitions, more = {}) {
      const there = state.topics.has(topic)
      const refused = there ? 0 : creationRefused(state, topic, more)
      write('createTopic', createAsk(topic, partitions, more), refused)
      if (!there) state.create(topic, partitions, more.configs)
      return !there
    },
    async growTopic(topic, partitions) {
      const there = state.topics.get(topic)?.partitions.length ?? null
      write('growTopic', growAsk(topic, partitions), there === null ? 3 : there >= partitions ? 37 : 0)
      state.grow(topic, partitions)
    },
    async topicConfigs(topics) {
      const found = topics.flatMap(name => state.topics.get(name) ?? [])
      return new Map(found.map(topic => [topic.topic, configsOf(topic)]))
    },
  }
  return admin as TopicAdmin
}

function creationRefused(
  state: FakeState,
  topic: string,
  more: { replicas?: number; configs?: Record<string, string> },
): number {
  if (!/^[\w.-]{1,249}$/.test(topic)) return 17
  if ((more.replicas ?? -1) > state.brokers) return 38
  return Object.keys(more.configs ?? {}).some(name => configFault(name) !== null) ? 40 : 0
}
