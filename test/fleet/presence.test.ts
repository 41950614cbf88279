import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryCoordinator } from '../../engine/adapters/memory/coordinator.ts'
import { memoryTree } from '../../engine/adapters/memory/tree.ts'
import { type Fault, MillraceError } from '../../engine/errors.ts'
import { startLease } from '../../engine/fleet/lease.ts'
import { startPresence } from '../../engine/fleet/presence.ts'
import type { Coordinator } from '../../engine/ports/coordinator.ts'
import { manualClock } from '../fakes/clock.ts'

const path = '/me'

/** A process with its document; what its beats meet is played. */
async function present() {
  const clock = manualClock()
  const tree = memoryTree()
  const mine = memoryCoordinator(tree, { session: 'mine', timeoutMs: 10_000 })
  const other = memoryCoordinator(tree, { session: 'other', timeoutMs: 10_000 })
  const beats: number[] = []
  const lost: string[] = []
  const taken: Fault[] = []
  const play: { beat: (real: () => Promise<number>) => Promise<number> } = { beat: real => real() }
  const coordinator: Coordinator = {
    ...mine,
    beat(at, data, version) {
      beats.push(clock.nowMs())
      return play.beat(() => mine.beat(at, data, version))
    },
  }
  const nothing = () => {}
  const on = { closing: nothing, fenced: nothing, open: nothing }
  const lease = startLease({ clock, uptimeMs: clock.nowMs, sessionMs: 10_000, on })
  await coordinator.write([{ do: 'create', path, data: 'a', mode: 'ephemeral' }])
  lease.answered(lease.sent())
  const doc = { text: 'a' }
  const presence = startPresence({
    ...{ coordinator, path, lease, clock, version: 0, data: () => doc.text },
    lost: why => void lost.push(why),
    taken: fault => void taken.push(fault),
    fatal(error) {
      throw error
    },
  })
  return { clock, tree, mine, other, beats, lost, taken, play, lease, doc, presence }
}

const unknown = () => new MillraceError('outcome-unknown', 'no answer')

test('a beat is a write of the same bytes at the expected version, every S/5', async () => {
  const { clock, tree, beats, lease } = await present()
  await clock.advance(10_000)
  assert.deepEqual(beats, [2_000, 4_000, 6_000, 8_000, 10_000])
  assert.deepEqual([tree.read(path)?.version, tree.read(path)?.data], [5, 'a'])
  assert.deepEqual([lease.state(), lease.remainingMs()], ['open', 7_000])
})

test('what has changed is written at once, also while a beat is under way', async () => {
  const { clock, tree, beats, doc, play, presence } = await present()
  doc.text = 'b'
  presence.change()
  await clock.settle()
  assert.deepEqual([beats, tree.read(path)?.data], [[0], 'b'])
  const held = Promise.withResolvers<void>()
  play.beat = async real => {
    const version = await real()
    await held.promise
    return version
  }
  presence.change()
  doc.text = 'c'
  presence.change()
  held.resolve()
  await clock.settle()
  assert.deepEqual([beats, tree.read(path)?.data], [[0, 0, 0], 'c'])
})

test('a lost beat of ours is known by its session: its version is taken, and it lengthens nothing', async () => {
  const { clock, tree, beats, play, lost, taken, lease } = await present()
  play.beat = async real => {
    await real()
    throw unknown()
  }
  await clock.advance(2_000)
  assert.deepEqual([tree.read(path)?.version, lease.remainingMs()], [1, 5_000])
  const waiting = Promise.withResolvers<void>()
  let refused = false
  play.beat = async real => {
    if (refused) await waiting.promise
    refused = true
    return await real()
  }
  await clock.advance(500)
  // Refused for its version, and sent again at once.
  assert.deepEqual([beats, lease.remainingMs()], [[2_000, 2_500, 2_500], 4_500])
  waiting.resolve()
  await clock.settle()
  assert.deepEqual([tree.read(path)?.version, lease.remainingMs(), lost, taken], [2, 7_000, [], []])
})

test('a document that is gone is a lost registration, and one of another session is id-taken', async () => {
  const one = await present()
  await one.other.write([{ do: 'remove', path, version: 0 }])
  await one.clock.advance(20_000)
  assert.deepEqual([one.lost, one.taken, one.beats], [['/me is gone'], [], [2_000]])
  const two = await present()
  await two.other.write([
    { do: 'remove', path, version: 0 },
    { do: 'create', path, data: 'b', mode: 'ephemeral' },
    { do: 'set', path, data: 'c', version: null },
  ])
  await two.clock.advance(20_000)
  assert.deepEqual([two.lost, two.taken.map(fault => fault.code), two.beats], [[], ['id-taken'], [2_000]])
})

test('while nothing is answered it tries each S/20, and a session that has ended is told at once', async () => {
  const { clock, beats, play, lost, lease, mine } = await present()
  play.beat = () => Promise.reject(new MillraceError('coordination-unreachable', 'away', { retryable: true }))
  await clock.advance(3_500)
  assert.deepEqual(beats, [2_000, 2_500, 3_000, 3_500])
  await clock.advance(3_500)
  assert.equal(lease.state(), 'fenced')
  await mine.close()
  await clock.settle()
  assert.deepEqual(lost, ['its session has ended'])
  const { length } = beats
  await clock.advance(10_000)
  assert.equal(beats.length, length)
})

test('what has changed while a lost beat is read back is written at once', async () => {
  const { clock, tree, beats, doc, play, presence } = await present()
  const refused = Promise.withResolvers<number>()
  play.beat = () => refused.promise
  await clock.advance(2_000)
  doc.text = 'b'
  presence.change()
  play.beat = real => real()
  refused.reject(new MillraceError('session-lost', 'refused'))
  await clock.settle()
  assert.deepEqual([beats, tree.read(path)?.data], [[2_000, 2_000], 'b'])
})
