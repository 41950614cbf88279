import { describe } from 'node:test'
import { manualClock } from '../fakes/clock.ts'
import { fakeKafka } from '../fakes/kafka/cluster.ts'
import { type ContractCluster, kafkaContract } from './kafka.ts'

const longestMs = 60_000
/** Produce 12 and Fetch 12 name topics instead of their ids. */
const byNameCaps = new Map([
  [0, 12],
  [1, 12],
])

describe('KAFKA 10: the contract holds on brokers in memory', () => kafkaContract(() => openFake(new Map())))
describe('KAFKA 10: the contract holds on brokers in memory that go by topic name', () =>
  kafkaContract(() => openFake(byNameCaps)))

async function openFake(caps: ReadonlyMap<number, number>): Promise<ContractCluster> {
  const clock = manualClock()
  const fake = fakeKafka({ clock, caps })
  let open = true
  // Whatever is awaited needs the clock to go on.
  const running = (async () => {
    while (open) await clock.advance(1)
  })()
  return {
    kafka: fake,
    fetches: () => fake.counts().fetches,
    heldBytes: () => fake.account.heldBytes,
    async topic(topic, partitions) {
      fake.topic(topic, partitions)
    },
    async remake(topic) {
      fake.recreateTopic(topic)
    },
    async trim(part, offset) {
      fake.trimTo(part, offset)
    },
    async until(condition) {
      for (const end = clock.nowMs() + longestMs; !condition(); ) {
        if (clock.nowMs() > end) throw new Error('what was waited for did not come in a minute')
        await clock.settle()
      }
    },
    async close() {
      await fake.close()
      open = false
      await running
    },
  }
}
