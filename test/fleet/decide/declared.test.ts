import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeclaredFlow, declaredChanges, skipsPassed } from '../../../engine/fleet/decide/declared.ts'
import { type FlowDoc, noFlowOverlay, readFlow, writeFlow } from '../../../engine/fleet/decide/documents/flow.ts'
import { noOverlay } from '../../../engine/flow/overlay.ts'

const flow = (spec: object = {}, overlay = noOverlay): DeclaredFlow => ({
  kind: 'mirror',
  spec: spec as never,
  overlay,
})
const paused = (topic: string, ...ns: number[]) => ({ ...noOverlay, paused: new Map([[topic, new Set(ns)]]) })

/** What stands after the file was taken in, as it is read again; null: nothing was to be written. */
function taken(declared: DeclaredFlow | null, before: FlowDoc | null): FlowDoc | null {
  const docs = new Map(before ? [['f', before]] : [])
  const { changes } = declaredChanges(new Map(declared ? [['f', declared]] : []), docs, 7)
  const doc = changes.get('f')
  return doc ? readFlow(writeFlow(doc), 'f') : null
}
const must = (doc: FlowDoc | null) => doc ?? assert.fail('nothing was written')

test('a flow of the file is made, and written again only when the file says something else', () => {
  const made = must(taken(flow({ from: 'a' }), null))
  assert.deepEqual(
    [made.origin, made.kind, made.spec, made.changedBy],
    ['config', 'mirror', { from: 'a' }, { atMs: 7, by: 'config' }],
  )
  assert.equal(taken(flow({ from: 'a' }), made), null)
  assert.deepEqual(must(taken(flow({ from: 'b' }), made)).spec, { from: 'b' })
})

test('what people have changed outlives an edit; what the file says of pauses counts when it is new', () => {
  const made = must(taken(flow({}, paused('t', 1, 0)), null))
  assert.deepEqual(made.overlay.paused, new Map([['t', [0, 1]]]))
  const byPeople = {
    ...made,
    overlay: { ...made.overlay, paused: '*' as const, topics: new Map([['x', 'out' as const]]) },
  }
  const edited = must(taken(flow({ from: 'b' }, paused('t', 0, 1)), byPeople))
  assert.deepEqual([edited.overlay.paused, edited.overlay.topics], ['*', new Map([['x', 'out']])])
  const said = must(taken(flow({ from: 'b' }, paused('u', 3)), edited))
  assert.deepEqual([said.overlay.paused, said.overlay.topics], [new Map([['u', [3]]]), new Map([['x', 'out']])])
})

test('a flow that has left the file is paused, and back it is as it was', () => {
  const made = must(taken(flow({}, paused('t', 0)), null))
  const left = must(taken(null, made))
  assert.deepEqual([left.overlay.paused, left.changedBy.by], ['*', 'config'])
  assert.equal(taken(null, left), null)
  const back = must(taken(flow({}, paused('t', 0)), left))
  assert.deepEqual(back.overlay.paused, new Map([['t', [0]]]))
  const whole = must(taken(flow(), must(taken(null, must(taken(flow({}, { ...noOverlay, paused: '*' }), null))))))
  assert.deepEqual(whole.overlay.paused, new Map())
})

test('a flow that people made stays theirs, and one that cannot be read is left alone', () => {
  const made: FlowDoc = { ...must(taken(flow(), null)), origin: 'api' }
  const found = declaredChanges(new Map([['f', flow({ from: 'b' })]]), new Map([['f', made]]), 7)
  assert.deepEqual([found.changes.size, found.foreign], [0, ['f']])
  assert.equal(declaredChanges(new Map(), new Map([['f', made]]), 7).changes.size, 0)
  assert.equal(declaredChanges(new Map([['f', flow()]]), new Map([['f', null]]), 7).changes.size, 0)
})

test('a skip goes when the checkpoint has passed it (C-38)', () => {
  const skips = new Map([
    [
      't',
      new Map<number, readonly [string | number, number]>([
        [0, [9, 1]],
        [1, ['9007199254740993', 1]],
      ]),
    ],
  ])
  const doc: FlowDoc = { ...must(taken(flow(), null)), overlay: { ...noFlowOverlay, skips } }
  assert.equal(
    skipsPassed(doc, () => null),
    null,
  )
  assert.equal(
    skipsPassed(doc, () => 9n),
    null,
  )
  assert.deepEqual(
    skipsPassed(doc, () => 10n)?.overlay.skips,
    new Map([['t', new Map([[1, ['9007199254740993', 1]]])]]),
  )
})
