import { manualClock } from '../fakes/clock.ts'
import { fakeKafka } from '../fakes/kafka/cluster.ts'
import { kafkaContract } from './kafka.ts'

for (const caps of [
  new Map<number, number>(),
  new Map([
    [0, 12],
    [1, 12],
  ]),
]) {
  const name = caps.size === 0 ? 'brokers in memory' : 'brokers in memory that go by topic name'
  kafkaContract(name, { skip: false }, async () => {
    const clock = manualClock()
    const fake = fakeKafka({ clock, caps })
    // Whatever is awaited needs the clock to go on.
    let open = true
    const run = async () => {
      while (open) await clock.advance(1)
    }
    const running = run()
    return {
      kafka: fake,
      fetches: () => fake.counts().fetches,
      heldBytes: () => fake.account.heldBytes,
      async topic(topic, partitions) {
        fake.topic(topic, partitions)
      },
      async trim(part, offset) {
        fake.trimTo(part, offset)
      },
      async until(condition) {
        for (const end = clock.nowMs() + 60_000; !condition(); ) {
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
  })
}
