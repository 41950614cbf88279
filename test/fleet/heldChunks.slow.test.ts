import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeAssignment } from '../../engine/fleet/decide/documents/assignment.ts'
import { cutDocument } from '../../engine/fleet/decide/documents/chunks.ts'
import { readHeld } from '../../engine/fleet/decide/documents/held.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { namesOf, unitsOf } from '../../engine/fleet/decide/units.ts'
import { readWhole } from '../../engine/fleet/wholeDocument.ts'
import type { Op } from '../../engine/ports/coordinator.ts'
import { manualClock } from '../fakes/clock.ts'
import { type FakeCoordination, fakeCoordination } from '../fakes/coordinator.ts'
import { workerOf } from './workerOf.ts'

const topics = Array.from({ length: 20_000 }, (_, n) => `${'t'.repeat(54)}-${String(n).padStart(5, '0')}`)
const all = topics.map(topic => `f/${topic}/0`)

/** The writes of a leader, one at a time: chunks first, then the head, then what is old goes. */
function assignment(
  units: readonly string[],
  at: { epoch: number; generation: number },
  tag: string,
  isThere: boolean,
) {
  const { head, chunks } = cutDocument(unitsOf(units), (some, count) =>
    writeAssignment({ ...at, chunks: count, units: some, specs: new Map([['f', tag]]) }),
  )
  const ops: Op[] = chunks.map((data, chunk) => {
    const path = paths.assignmentChunk('w', at, chunk)
    return { do: 'create', path, data, mode: 'persistent' }
  })
  const path = paths.assignment('w')
  ops.push(
    isThere ? { do: 'set', path, data: head, version: null } : { do: 'create', path, data: head, mode: 'persistent' },
  )
  return { ops, chunks }
}

async function heldIn(coordination: FakeCoordination): Promise<Set<string>> {
  const { tree } = coordination
  const found = await readWhole({ read: async (path: string) => tree.read(path) } as never, paths.held('w'), {
    parse: text => readHeld(text, paths.held('w')),
    chunkPath: (at, chunk) => paths.heldChunk('w', at, chunk),
  })
  return new Set(namesOf(found?.doc.units ?? new Map()))
}

function large() {
  const clock = manualClock()
  const coordination = fakeCoordination({ clock })
  const one = workerOf({ clock, coordination })
  one.flow('f')
  const tag = coordination.tree.read(paths.flow('f'))?.tag ?? ''
  const write = (op: Op) => {
    const written = coordination.tree.write([op], 'leader')
    assert.ok(written.done, op.path)
  }
  return { ...one, tag, write, tree: coordination.tree }
}

test('COORDINATION 3: of 20 000 units in six chunks a worker runs the old set or the new one, after each of the writes', async () => {
  const one = large()
  await one.registered()
  one.assign(1, [])
  const first = assignment(all, { epoch: 1, generation: 2 }, one.tag, true)
  assert.equal(first.chunks.length, 6)
  assert.ok(first.chunks.every(chunk => chunk.length <= 262_144))
  for (const op of first.ops) {
    assert.equal(one.fake.running.size, 0)
    one.write(op)
    await one.clock.advance(2_000)
  }
  assert.equal(one.fake.running.size, 20_000)
  const half = all.slice(0, 10_000)
  const second = assignment(half, { epoch: 1, generation: 3 }, one.tag, true)
  for (const op of second.ops) {
    assert.equal(one.fake.running.size, 20_000)
    one.write(op)
    await one.clock.advance(2_000)
  }
  assert.equal(one.fake.running.size, 10_000)
  // The head speaks of chunks of generation 2 that are being taken away: what runs goes on.
  for (const chunk of first.chunks.keys())
    one.write({ do: 'remove', path: paths.assignmentChunk('w', { epoch: 1, generation: 2 }, chunk), version: null })
  await one.clock.advance(2_000)
  assert.deepEqual([one.fake.running.size, one.worker.state().trouble], [10_000, null])
})

test('a chunk that is missing is looked for three times, then the document is corrupt and what runs goes on', async () => {
  const one = large()
  await one.registered()
  one.assign(1, ['f/a/0'])
  await one.clock.advance(50)
  const { ops } = assignment(all, { epoch: 1, generation: 2 }, one.tag, true)
  for (const op of ops.slice(1)) one.write(op)
  await one.clock.advance(100)
  assert.deepEqual([one.runs(), one.worker.state().trouble?.code], [['a/0'], 'state-corrupt'])
  one.write(ops[0] as Op)
  await one.clock.advance(2_000)
  assert.deepEqual([one.fake.running.size, one.worker.state().trouble], [20_000, null])
})

test('a large report is in chunks, and whoever reads between two of its writes misses nothing that still runs', async () => {
  const one = large()
  await one.registered()
  one.assign(1, [])
  for (const op of assignment(all, { epoch: 1, generation: 2 }, one.tag, true).ops) one.write(op)
  await one.clock.until(() => one.fake.running.size === 20_000, 5_000)
  await one.clock.advance(1_000)
  assert.equal((await heldIn(one.coordination)).size, 20_000)
  assert.equal(one.tree.children(paths.held('w')).length, 6)
  // Some end by themselves, within one generation: in every state that is seen each runner is listed.
  const ends = [...one.fake.running.keys()].filter((_, at) => at % 2_003 === 0)
  for (const unit of ends) {
    one.fake.unit(unit).end()
    const held = await heldIn(one.coordination)
    for (const running of one.fake.running.keys()) assert.ok(held.has(`f/${running}`), running)
    await one.clock.advance(7)
  }
  await one.clock.advance(1_000)
  assert.equal((await heldIn(one.coordination)).size, 20_000 - ends.length)
  // In the next generation the others still stop; in the one after it there are few: one piece, and no chunk is left.
  for (const generation of [3, 4]) {
    const { ops } = assignment(all.slice(1, 10), { epoch: 1, generation }, one.tag, true)
    for (const op of ops) one.write(op)
    await one.clock.advance(5_000)
  }
  assert.deepEqual([(await heldIn(one.coordination)).size, one.tree.children(paths.held('w'))], [9, []])
})
