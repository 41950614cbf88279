import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSupervisor } from '../../engine/fleet/supervisor.ts'
import type { Exit, Processes } from '../../engine/ports/processes.ts'
import { manualClock } from '../fakes/clock.ts'

type Child = { group: string; asked: string[]; exit(exit: Partial<Exit>): void; told(message: unknown): void }

/** Processes that do what the test says. `obeys`: they end with 0 when they are asked to stop. */
function fakeProcesses(obeys = true) {
  const children: Child[] = []
  const log: string[] = []
  const processes: Processes = {
    start(group, on) {
      const { promise: exited, resolve } = Promise.withResolvers<Exit>()
      const exit = (of: Partial<Exit>) => resolve({ code: null, signal: null, error: null, ...of })
      const asked: string[] = []
      const ask = (what: string) => {
        asked.push(what)
        log.push(`${what} ${group}`)
      }
      children.push({ group, asked, exit, told: on.told })
      log.push(`start ${group}`)
      return {
        pid: children.length,
        exited,
        stop: () => {
          ask('stop')
          if (obeys) exit({ code: 0 })
        },
        kill: () => {
          ask('kill')
          exit({ signal: 'SIGKILL' })
        },
        hangUp: () => ask('hangUp'),
      }
    },
  }
  return { processes, children, log }
}

function supervise(obeys = true) {
  const clock = manualClock()
  const fake = fakeProcesses(obeys)
  const stop = new AbortController()
  const abort = new AbortController()
  const ends: { group: string; exit: Exit; againMs: number }[] = []
  const supervised = startSupervisor({
    groups: [
      { group: 'controller', count: 1 },
      { group: 'worker', count: 2 },
    ],
    processes: fake.processes,
    clock,
    chance: () => 0.5,
    stop: stop.signal,
    abort: abort.signal,
    line: () => {},
    told: () => {},
    ended: ({ group }, exit, againMs) => ends.push({ group, exit, againMs }),
  })
  return { clock, stop, abort, ends, supervised, ...fake }
}

test('one that ends is started anew, later and later, and soon again when it has run well', async () => {
  const { clock, children, ends, supervised, stop } = supervise()
  assert.deepEqual(
    children.map(({ group }) => group),
    ['controller', 'worker', 'worker'],
  )
  for (const waitMs of [1_000, 2_000, 4_000]) {
    children.at(-1)?.exit({ signal: 'SIGKILL' })
    await clock.settle()
    assert.equal(ends.at(-1)?.againMs, waitMs)
    assert.equal(supervised.members().filter(({ since }) => since === 'waiting').length, 1)
    const before = children.length
    await clock.advance(waitMs - 1)
    assert.equal(children.length, before)
    await clock.advance(1)
    assert.equal(children.length, before + 1)
  }
  await clock.advance(60_000)
  children.at(-1)?.exit({ code: 1 })
  await clock.settle()
  assert.equal(ends.at(-1)?.againMs, 1_000)
  stop.abort()
  assert.deepEqual(await supervised.done, { code: 0 })
})

test('the controllers stop before the workers, and nothing is started any more', async () => {
  const { clock, stop, supervised, log, ends } = supervise()
  log.length = 0
  stop.abort()
  assert.deepEqual(await supervised.done, { code: 0 })
  assert.deepEqual(log, ['stop controller', 'stop worker', 'stop worker'])
  assert.deepEqual(ends, [])
  await clock.advance(120_000)
  assert.equal(log.length, 3)
})

test('a refused configuration ends all of it with its code', async () => {
  const { children, supervised, log } = supervise()
  children[1]?.exit({ code: 78 })
  assert.deepEqual(await supervised.done, { code: 78 })
  assert.deepEqual(log.slice(3), ['stop controller', 'stop worker'])
})

test('what does not stop is killed when the stop may wait no longer', async () => {
  const { children, supervised, stop, abort, log, clock } = supervise(false)
  stop.abort()
  await clock.settle()
  children[0]?.exit({ code: 0 })
  await clock.settle()
  abort.abort()
  assert.deepEqual(await supervised.done, { code: 70 })
  assert.deepEqual(log.slice(3), ['stop controller', 'stop worker', 'stop worker', 'kill worker', 'kill worker'])
})

test('a hang-up reaches all that run', async () => {
  const { children, supervised, stop } = supervise()
  supervised.hangUp()
  assert.deepEqual(
    children.map(({ asked }) => asked),
    [['hangUp'], ['hangUp'], ['hangUp']],
  )
  stop.abort()
  await supervised.done
})
