import { machineClock } from '../../engine/adapters/local/clock.ts'
import { fakeCoordination } from '../fakes/coordinator.ts'
import { type CoordinatorUnderTest, coordinatorContract } from './coordinator.ts'
import { phaseOf } from './phaseOf.ts'

coordinatorContract('the contract of a coordinator holds on the fake that answers at once', () => openFake(1, 0))
for (const seed of [1, 2, 3]) {
  coordinatorContract(`the contract of a coordinator holds on the fake with delays, seed ${seed}`, () =>
    openFake(seed, 3),
  )
}

async function openFake(seed: number, delayMsMax: number): Promise<CoordinatorUnderTest> {
  const fake = fakeCoordination({ clock: machineClock(), seed, delayMsMax })
  // The clock's timers keep no process alive.
  const alive = setInterval(() => {}, 1_000)
  return {
    async open() {
      const one = fake.open()
      await phaseOf(one, 'connected')
      return one
    },
    async away(one, work) {
      fake.suspend(one, Number.POSITIVE_INFINITY)
      await work()
      fake.suspend(one, 0)
      await phaseOf(one, 'connected')
    },
    async withoutAnswer(one, work) {
      fake.loseNextAnswer(asked => asked.session === one)
      await work()
      await phaseOf(one, 'connected')
    },
    async expire(one) {
      fake.expire(one)
      await phaseOf(one, 'lost')
    },
    async dispose() {
      await Promise.all(fake.sessions.map(one => one.close()))
      clearInterval(alive)
    },
  }
}
