import assert from 'node:assert/strict'
import { it } from 'node:test'
import { makeMachine } from './machine.ts'
import { makeNetwork, type Wire } from './network.ts'
import { makeWorld } from './world.ts'

it('events come in the order of their times, and promises settle between two of them', async () => {
  const world = makeWorld(1)
  const machine = makeMachine(world, 'm', 1)
  const said: string[] = []
  const say = (word: string) => machine.enter(() => void Promise.resolve().then(() => said.push(word)))
  world.at(20, () => say('third'))
  world.at(10, () => say('first'))
  world.at(10, () => say('second'))
  world.at(15, () => said.push('between'))()
  world.at(15, () => said.push('between'))
  await world.run(100)
  assert.deepEqual(said, ['first', 'second', 'between', 'third'])
  assert.equal(world.nowMs(), 100)
})

it('the same seed gives the same trace, another one another', async () => {
  const sums = await Promise.all(
    [5, 5, 6].map(async seed => {
      const world = makeWorld(seed)
      const step = () => {
        world.note(`chance ${world.chance()}`)
        world.after(world.spanMs(1, 10), step)
      }
      step()
      await world.run(1_000)
      return world.trace.sum()
    }),
  )
  assert.equal(sums[0], sums[1])
  assert.notEqual(sums[0], sums[2])
})

it('a clock that is fast has its timers early, and a process that stands still has them when it goes on', async () => {
  const world = makeWorld(1)
  const fast = makeMachine(world, 'fast', 1.02)
  const due: string[] = []
  const startMs = fast.clock.nowMs()
  for (const ms of [1_020, 5_100, 6_120]) fast.clock.after(ms, () => due.push(world.nowMs().toFixed(0)))
  world.at(4_000, fast.stop)
  world.at(7_000, fast.goOn)
  await world.run(8_000)
  assert.deepEqual(due, ['1000', '7000', '7000'])
  assert.equal(Math.round(fast.clock.nowMs() - startMs), 8_160)
})

it('a process that is killed runs no more', async () => {
  const world = makeWorld(1)
  const machine = makeMachine(world, 'm', 1)
  machine.clock.after(10, () => assert.fail('it is dead'))
  world.at(5, machine.kill)
  await world.run(20)
})

function pair(seed: number) {
  const world = makeWorld(seed)
  const network = makeNetwork(world)
  const got: unknown[] = []
  let server: Wire | null = null
  network.listen('s', wire => {
    server = wire
    wire.on = { messages: messages => void got.push(...messages), closed: () => void got.push('closed') }
  })
  const client = network.dial('c', 's')
  return { world, network, got, client, server: () => server as unknown as Wire }
}

it('messages of one direction arrive in order, and what a cut line holds back comes when it is mended', async () => {
  const { world, network, got, client } = pair(3)
  for (let n = 0; n < 20; n++) world.at(n, () => client.send(n))
  world.at(5.5, () => {
    network.line('c', 's').blocked = true
  })
  await world.run(100)
  const before = got.length
  assert.ok(before >= 4 && before <= 6)
  network.line('c', 's').blocked = false
  network.mended('c', 's')
  await world.run(200)
  assert.deepEqual(
    got,
    Array.from({ length: 20 }, (_, n) => n),
  )
})

it('what was sent before a reset may still arrive, also when its sender is gone', async () => {
  const late = new Set<boolean>()
  for (let seed = 0; seed < 20; seed++) {
    const { world, network, got, client } = pair(seed)
    network.line('c', 's').blocked = true
    client.send('commit')
    client.destroy()
    network.line('c', 's').blocked = false
    network.mended('c', 's')
    await world.run(100)
    assert.equal(got.at(-1), 'closed')
    late.add(got.includes('commit'))
  }
  assert.deepEqual([...late].sort(), [false, true])
})

it('a host that is down resets its connections and takes no others', async () => {
  const { world, network, client } = pair(3)
  let closed = 0
  client.on.closed = () => closed++
  network.down('s')
  const other = network.dial('c', 's')
  other.on.closed = () => closed++
  await world.run(100)
  assert.equal(closed, 2)
})
