import assert from 'node:assert/strict'
import { test } from 'node:test'
import { multisOf } from '../../../engine/fleet/decide/multis.ts'
import type { AssignmentWrite, Writes } from '../../../engine/fleet/decide/writesOf.ts'
import { writeBytesMax } from '../../../engine/limits.ts'

const doc = (id: string, more: Partial<AssignmentWrite> = {}): AssignmentWrite => ({
  ...{ id, version: 3, units: new Set(['f/t/0']), specs: new Map(), gives: true, before: null },
  ...more,
})
const writesOf = (more: Partial<Writes>): Writes => ({
  ...{ epoch: 2, generation: 9, takeovers: [], assignments: [], ejects: [], wishes: null, garbage: [] },
  ...more,
})
const told = (writes: Writes) =>
  multisOf(writes, 5).map(({ ops }) => ops.map(op => `${op.do} ${op.path}${'version' in op ? ` ${op.version}` : ''}`))

test('a takeover, what is only taken away and what is given are one write, in this order (C-7, C-33)', () => {
  const takeover = { id: 'x', node: 7, held: 4, assignment: doc('x', { units: new Set(), gives: false }) }
  assert.deepEqual(
    told(writesOf({ takeovers: [takeover], assignments: [doc('a', { version: null }), doc('b', { gives: false })] })),
    [['remove /workers/x 7', 'set /assignments/x 3', 'set /held/x 4', 'set /assignments/b 3', 'create /assignments/a']],
  )
})

test('a round of many documents is cut into writes of 200 operations, and no takeover is cut', () => {
  const takeovers = Array.from({ length: 100 }, (_, n) => ({
    ...{ id: `x${n}`, node: 1, held: null },
    assignment: doc(`x${n}`, { units: new Set(), gives: false }),
  }))
  const multis = multisOf(writesOf({ takeovers, assignments: [doc('a')] }), 5)
  assert.deepEqual(
    multis.map(({ ops }) => ops.length),
    [198, 103],
  )
  for (const { ops, takeovers: ids } of multis)
    for (const id of ids) assert.equal(ops.filter(op => op.path.endsWith(`/${id}`)).length, 3)
})

test('COORDINATION 3: chunks stand before the head that names them, and the old ones go after it', () => {
  const units = new Set(Array.from({ length: 20_000 }, (_, n) => `f/${String(n).padStart(60, 'x')}/0`))
  const before = { epoch: 2, generation: 8, chunks: 2 }
  const multis = multisOf(writesOf({ assignments: [doc('a', { units, before })] }), 5)
  const paths = multis.flatMap(({ ops }) => ops.map(op => `${op.do} ${op.path}`))
  assert.deepEqual(paths, [
    ...Array.from({ length: 6 }, (_, k) => `create /assignments/a/2-9-${k}`),
    'set /assignments/a',
    'remove /assignments/a/2-8-0',
    'remove /assignments/a/2-8-1',
  ])
  assert.deepEqual(
    multis.map(({ isCleaning }) => isCleaning),
    [false, false, false, false, true].slice(-multis.length),
  )
  for (const { ops } of multis)
    assert.ok(ops.reduce((sum, op) => sum + ('data' in op ? op.data.length : 0), 0) <= writeBytesMax)
})

test('chunks of a document that somebody took away stand behind its head, which is there before them', () => {
  const units = new Set(Array.from({ length: 10_000 }, (_, n) => `f/${String(n).padStart(60, 'x')}/0`))
  const takeover = { id: 'x', node: 7, held: 4, assignment: doc('x', { units: new Set(), gives: false }) }
  const multis = multisOf(writesOf({ takeovers: [takeover], assignments: [doc('a', { units, version: null })] }), 5)
  assert.deepEqual(
    multis.flatMap(({ ops }) => ops.map(op => `${op.do} ${op.path}`)),
    [
      ...['remove /workers/x', 'set /assignments/x', 'set /held/x', 'create /assignments/a'],
      ...Array.from({ length: 3 }, (_, k) => `create /assignments/a/2-9-${k}`),
    ],
  )
})
