import { describe } from 'node:test'
import { plainSecurity } from '../../engine/adapters/kafka/login.ts'
import { openKafka } from '../../engine/adapters/kafka/openKafka.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { type ContractCluster, kafkaContract } from '../contracts/kafka.ts'
import { kafkaClient } from './kafkajs.ts'
import { live, rigFor } from './rigFor.ts'

const lookMs = 5
const longestMs = 60_000

describe('KAFKA 10: the contract holds on a real broker', live, () => kafkaContract(openReal))

async function openReal(): Promise<ContractCluster> {
  const set = await rigFor({})
  const [host = '', port = ''] = set.east.bootstrap.split(':')
  const account = new MemoryAccount({ poison: true })
  const kafka = openKafka(
    {
      name: 'east',
      brokers: [{ host, port: Number(port) }],
      clientId: 'contract',
      addresses: new Map(),
      security: plainSecurity,
    },
    { account, clock: machineClock(), chance: Math.random },
  )
  const other = kafkaClient(set.east.bootstrap)
  return {
    kafka,
    fetches: () => kafka.counts().fetchRequests,
    heldBytes: () => account.heldBytes,
    topic: (topic, partitions) => kafka.admin.createTopic(topic, partitions),
    async remake(topic) {
      const before = (await kafka.admin.look([topic])).topics[0]?.topicId
      await other.admin.deleteTopics({ topics: [topic] })
      for (let now = before; now === before || !now; now = (await kafka.admin.look([topic])).topics[0]?.topicId)
        await kafka.admin.createTopic(topic, 1)
    },
    async trim({ topic, partition }, offset) {
      // Else kafkajs has not heard of the topic.
      await other.admin.fetchTopicOffsets(topic)
      await other.admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] })
    },
    async until(condition) {
      for (const end = performance.now() + longestMs; !condition(); ) {
        if (performance.now() > end) throw new Error('what was waited for did not come in a minute')
        await new Promise(resolve => setTimeout(resolve, lookMs))
      }
    },
    async close() {
      await Promise.all([kafka.close(), other.close()])
      await set.dispose()
    },
  }
}
