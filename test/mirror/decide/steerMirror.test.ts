import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fault } from '../../../engine/errors.ts'
import { asideKey } from '../../../engine/flow/contract.ts'
import { actionTopicsMax, checkpointAgainMs, firstStartsMax } from '../../../engine/limits.ts'
import type { Provenance } from '../../../engine/mirror/decide/provenance.ts'
import { type MirrorAction, steerMirror } from '../../../engine/mirror/decide/steerMirror.ts'
import type { TopicConfig } from '../../../engine/ports/kafka.ts'
import { back, ours, seenAtMs, specOf, type ViewOf, viewOf, wallMs } from './viewOf.ts'

const t = (partitions = 1, more: Partial<NonNullable<ViewOf['source']>[number]> = {}) => [
  { topic: 't', partitions, ...more },
]
const guarded = [ours('t')]
const offset = (partition = 0, more: Partial<NonNullable<ViewOf['offsets']>[number]> = {}) => ({
  topic: 't',
  partition,
  ...more,
})
const setting = (name: string, value: string): TopicConfig => ({ name, value, isDefault: false, onTopic: true })
const fault: Fault = { code: 'kafka-not-authorized', message: 'no right', hint: null }

function steer(of: ViewOf, spec: Record<string, unknown> = {}): MirrorAction[] {
  return steerMirror(specOf(spec), viewOf(of))
}
const wordsOf = (actions: MirrorAction[]) => actions.map(action => action.do)
function actionOf<Do extends MirrorAction['do']>(actions: MirrorAction[], word: Do): MirrorAction & { do: Do } {
  const found = actions.find(action => action.do === word)
  assert.ok(found, `${word} is not among ${wordsOf(actions)}`)
  return found as MirrorAction & { do: Do }
}

test('actions are in their order of urgency', () => {
  const actions = steer({
    source: ['create', 'grow', 'start', 'unguarded', 'paused'].map(topic => ({ topic, partitions: 2 })),
    destination: [
      { topic: 'grow', partitions: 1 },
      { topic: 'start', partitions: 2 },
      { topic: 'paused', partitions: 2 },
    ],
    ours: ['create', 'grow', 'start', 'paused'].map(topic => ours(topic)),
    offsets: [{ topic: 'paused', partition: 0, sinceMs: null }],
    configs: {
      source: { create: [], grow: [], start: [setting('retention.ms', '5')] },
      destination: { start: [] },
    },
  })
  assert.deepEqual(wordsOf(actions), [
    'provenance',
    'createTopic',
    'growTopic',
    'commitStarts',
    'commitAgain',
    'syncConfigs',
  ])
  assert.deepEqual(actionOf(actions, 'createTopic').topics, [
    { topic: 'create', partitions: 2, replicas: -1, configs: {} },
  ])
  assert.deepEqual(actionOf(actions, 'growTopic').topics, [{ topic: 'grow', partitions: 2 }])
  assert.deepEqual(actionOf(actions, 'syncConfigs').changes, [
    { topic: 'start', set: { 'retention.ms': '5' }, unset: [] },
  ])
})

test('from nothing to a topic that runs, each action once: the view after it asks for the next one', () => {
  const source = t(2)
  const configs = { source: { t: [setting('retention.ms', '5')] } }
  const first = steer({ source, configs })
  assert.deepEqual(wordsOf(first), ['provenance'])
  const records = actionOf(first, 'provenance').records
  assert.deepEqual(records, [ours('t')])

  const second = steer({ source, configs, ours: records })
  assert.deepEqual(wordsOf(second), ['createTopic'])
  assert.deepEqual(actionOf(second, 'createTopic').topics, [
    { topic: 't', partitions: 2, replicas: -1, configs: { 'retention.ms': '5' } },
  ])

  const made = {
    source,
    configs: { ...configs, destination: { t: [setting('retention.ms', '5')] } },
    destination: t(2),
  }
  const third = steer({ ...made, ours: records })
  assert.deepEqual(wordsOf(third), ['commitStarts'])
  assert.deepEqual(actionOf(third, 'commitStarts'), {
    do: 'commitStarts',
    parts: [0, 1].map(partition => ({
      ...{ topic: 't', partition, topicId: 't-id', destinationId: 't-id' },
      oldId: null,
    })),
    first: true,
    units: ['t/0', 't/1'],
  })

  const fourth = steer({ ...made, ours: records, offsets: [offset(0), offset(1)] })
  assert.deepEqual(wordsOf(fourth), ['provenance'])
  const raised = actionOf(fourth, 'provenance').records
  assert.deepEqual(raised, [ours('t', { parts: 2 })])
  assert.deepEqual(steer({ ...made, ours: raised, offsets: [offset(0), offset(1)] }), [])
})

test('where the destination may not be made, nothing is created and nothing grows', () => {
  const of = { source: [...t(2), { topic: 'u', partitions: 1 }], destination: t(1), ours: [...guarded, ours('u')] }
  const spec = { destination: { create: false }, start: 'latest' }
  assert.deepEqual(wordsOf(steer({ ...of, configs: { source: { u: [] } } }, spec)), ['commitStarts'])
})

type ProvenanceRow = { says: string; of: ViewOf; spec?: Record<string, unknown>; records: Provenance[] }
const topic = { source: t(2), destination: t(2) }
const provenance: ProvenanceRow[] = [
  { says: 'none is written without the loop guard', of: { ...topic, ours: null }, records: [] },
  {
    says: 'its path goes on from that of the source',
    of: { ...topic, upstream: [ours('t', { flow: 'before', from: 'north-id', via: ['south-id', 'north-id'] })] },
    records: [ours('t', { via: ['south-id', 'north-id', 'east-id'] })],
  },
  {
    says: 'it is under the name at the destination',
    of: { source: t(), names: { t: 'east.t' } },
    records: [ours('east.t', { src: 't', sourceId: 't-id' })],
  },
  {
    says: 'of a topic that may not be copied, one that was never written is none',
    of: { ...topic, upstream: [back('t')] },
    records: [],
  },
  {
    says: 'of a flow that begins with too many partitions there is none',
    of: { source: t(firstStartsMax + 1) },
    spec: { start: 'latest' },
    records: [],
  },
  {
    says: 'of a topic whose records have come round since, it ends',
    of: { ...topic, ours: guarded, upstream: [back('t')], offsets: [offset(0)] },
    records: [ours('t', { parts: 1, endedMs: wallMs })],
  },
  {
    says: 'an ended one stays as it is while the records come round',
    of: { ...topic, ours: [ours('t', { endedMs: 5 })], upstream: [back('t')] },
    records: [],
  },
  {
    says: 'an ended one goes on when they do not come round any more',
    of: { ...topic, ours: [ours('t', { endedMs: 5 })] },
    records: [ours('t')],
  },
  {
    says: 'what has left the flow ends',
    of: { ours: [ours('t', { parts: 1 })] },
    records: [ours('t', { parts: 1, endedMs: wallMs })],
  },
  { says: 'what has left the flow ends once', of: { ours: [ours('t', { endedMs: 5 })] }, records: [] },
  {
    says: 'a topic whose name cannot be used is not written anew',
    of: { ...topic, refused: { t: 'reserved' } },
    records: [],
  },
  {
    says: 'parts never fall although a checkpoint is gone',
    of: { ...topic, ours: [ours('t', { parts: 2 })], offsets: [offset(0)] },
    records: [],
  },
  {
    says: 'offsets of another topic id are no parts of this one',
    of: { ...topic, ours: guarded, offsets: [offset(0, { sourceId: 'other-id' })] },
    records: [],
  },
  {
    says: 'the old id of a topic made anew stays until the new one has a checkpoint',
    of: { source: t(2, { topicId: 'new-id' }), destination: t(2), ours: [ours('t', { parts: 2 })] },
    records: [],
  },
  {
    says: 'then the new id has its own parts',
    of: {
      ...{ source: t(2, { topicId: 'new-id' }), destination: t(2), ours: [ours('t', { parts: 2 })] },
      offsets: [offset(0, { sourceId: 'new-id' })],
    },
    records: [ours('t', { parts: 1, sourceId: 'new-id' })],
  },
  {
    says: 'what is about to be set is remembered before',
    of: {
      ...{ ...topic, ours: [ours('t', { parts: 2, set: ['retention.ms'] })], offsets: [offset(0), offset(1)] },
      configs: { source: { t: [setting('segment.ms', '6')] }, destination: { t: [setting('retention.ms', '5')] } },
    },
    records: [ours('t', { parts: 2, set: ['retention.ms', 'segment.ms'] })],
  },
  {
    says: 'what has been unset is forgotten',
    of: {
      ...{ ...topic, ours: [ours('t', { parts: 2, set: ['retention.ms'] })], offsets: [offset(0), offset(1)] },
      configs: { source: { t: [] }, destination: { t: [] } },
    },
    records: [ours('t', { parts: 2 })],
  },
]

test('provenance: one that goes on with what it had copied asks first, and holds it when nobody is in its way', () => {
  const of = { ...topic, offsets: [offset(0)] }
  const written = (more: ViewOf) => actionOf(steer({ ...of, ...more }), 'provenance').records
  const ended = written({ ours: [ours('t', { parts: 1, endedMs: 5 })] })
  assert.deepEqual(ended, [ours('t', { parts: 1, claims: true })])
  const rivals = new Map([['t', { flow: 'back', sinceMs: seenAtMs }]])
  assert.deepEqual(steer({ ...of, ours: ended, upstream: [back('t', { claims: true })], rivals }), [])
  assert.deepEqual(written({ ours: ended }), [ours('t', { parts: 1 })])
  // Offsets that are older than the guard are a copy too; and the first one does not hold it while somebody is in its way.
  assert.deepEqual(written({}), ended)
  const begun = { ours: [ours('t')], upstream: [back('t', { parts: 0 })], rivals }
  assert.deepEqual(written(begun), ended)
})

test('nothing is made at the destination while a flow back that has to give way is waited for', () => {
  const of = { source: t(), configs: { source: { t: [] } }, ours: guarded, upstream: [back('t', { parts: 0 })] }
  const rivals = new Map([['t', { flow: 'back', sinceMs: seenAtMs }]])
  assert.deepEqual(wordsOf(steer({ ...of, rivals })), [])
  assert.deepEqual(wordsOf(steer(of)), ['createTopic'])
})

for (const { says, of, spec, records } of provenance) {
  test(`provenance: ${says}`, () => {
    const actions = steer(of, spec)
    const written = actions.find(action => action.do === 'provenance')?.records ?? []
    assert.deepEqual(written, records)
    // A level: when it is written, nothing more of it is asked for.
    if (!of.ours && of.ours !== undefined) return
    const after = new Map([...(of.ours ?? []), ...written].map(one => [one.topic, one]))
    assert.ok(!wordsOf(steer({ ...of, ours: [...after.values()] }, spec)).includes('provenance'))
  })
}

test('nothing is made at the destination of a topic without its guard, refused, absent, or without known configs', () => {
  const configs = { source: { t: [] } }
  assert.deepEqual(wordsOf(steer({ source: t(), configs })), ['provenance'])
  assert.deepEqual(wordsOf(steer({ source: t(), configs, ours: [ours('t', { endedMs: 1 })] })), ['provenance'])
  assert.deepEqual(wordsOf(steer({ source: t(), configs, ours: guarded, absent: { t: 1 } })), [])
  assert.deepEqual(wordsOf(steer({ source: t(), configs, ours: guarded, refused: { t: 'reserved' } })), [])
  assert.deepEqual(wordsOf(steer({ source: t(), ours: guarded })), [])
  assert.deepEqual(wordsOf(steer({ source: t(), configs, ours: null }, { loopGuard: 'off' })), ['createTopic'])
})

test('a topic that was deleted at the destination after it was copied is not created again', () => {
  const gone = { source: t(), configs: { source: { t: [] } }, ours: [ours('t', { parts: 1 })] }
  assert.deepEqual(steer({ ...gone, offsets: [offset()] }), [])
  assert.deepEqual(wordsOf(steer({ ...gone, offsets: [offset(0, { destinationId: '' })] })), ['createTopic'])
})

test('what is set aside is left out, and the others of its action are done', () => {
  const of: ViewOf = {
    source: ['a', 'b', 'c', 'd', 'e', 'f'].map(topic => ({ topic, partitions: 2 })),
    destination: [
      { topic: 'c', partitions: 1 },
      { topic: 'd', partitions: 1 },
      { topic: 'e', partitions: 2 },
      { topic: 'f', partitions: 2 },
    ],
    ours: ['a', 'b', 'c', 'd', 'e', 'f'].map(topic => ours(topic, { set: ['x'] })),
    configs: {
      source: { a: [], b: [], e: [setting('x', '1')], f: [setting('x', '1')] },
      destination: { e: [], f: [] },
    },
    aside: new Map([
      [asideKey('createTopic', 'a'), fault],
      [asideKey('growTopic', 'c'), fault],
      [asideKey('syncConfigs', 'e'), fault],
    ]),
  }
  const actions = steer(of)
  assert.deepEqual(
    actionOf(actions, 'createTopic').topics.map(one => one.topic),
    ['b'],
  )
  assert.deepEqual(
    actionOf(actions, 'growTopic').topics.map(one => one.topic),
    ['d'],
  )
  assert.deepEqual(
    actionOf(actions, 'syncConfigs').changes.map(one => one.topic),
    ['f'],
  )
})

test('one action makes 100 topics, grows 100 and sets 100, and commits all first starts', () => {
  const count = actionTopicsMax + 1
  const named = (what: string) => Array.from({ length: count }, (_, n) => `${what}${n}`)
  const [create, grow, set] = [named('create'), named('grow'), named('set')]
  const all = [...create, ...grow, ...set]
  const every = (names: string[], configs: TopicConfig[]) => Object.fromEntries(names.map(name => [name, configs]))
  const actions = steer({
    source: all.map(topic => ({ topic, partitions: 20 })),
    destination: [...grow, ...set].map((topic, n) => ({ topic, partitions: n < count ? 1 : 20 })),
    ours: all.map(topic => ours(topic, { set: ['x'] })),
    configs: {
      source: { ...every(create, []), ...every(set, [setting('x', '1')]) },
      destination: every(set, []),
    },
  })
  assert.equal(actionOf(actions, 'createTopic').topics.length, actionTopicsMax)
  assert.equal(actionOf(actions, 'growTopic').topics.length, actionTopicsMax)
  assert.equal(actionOf(actions, 'syncConfigs').changes.length, actionTopicsMax)
  const starts = actionOf(actions, 'commitStarts')
  assert.ok(20 * all.length > firstStartsMax)
  assert.deepEqual([starts.first, starts.parts.length, starts.units.length], [true, 20 * all.length, 20 * all.length])
})

test('first starts are one commit, with those whose topic is not there yet, and wait until one of them could run', () => {
  const source = [...t(2), { topic: 'u', partitions: 1 }]
  const both = { source, ours: [...guarded, ours('u')] }
  assert.deepEqual(wordsOf(steer(both)), [])
  const starts = actionOf(steer({ ...both, destination: t(1) }), 'commitStarts')
  assert.deepEqual(starts.units, ['t/0', 't/1', 'u/0'])
  assert.deepEqual(
    starts.parts.map(part => part.destinationId),
    ['t-id', 't-id', ''],
  )
})

test('first starts do not wait for topics that may not be copied, and have none of them', () => {
  const source = [...t(), { topic: 'u', partitions: 1 }, { topic: 'v', partitions: 1 }]
  const of = { source, destination: source, ours: [...guarded, ours('u')], refused: { u: 'reserved' } }
  assert.deepEqual(actionOf(steer(of), 'commitStarts').units, ['t/0'])
})

test('later starts are those that could run now, and are no first ones', () => {
  const source = [...t(3), { topic: 'u', partitions: 1 }]
  const known = [ours('t', { parts: 1 }), ours('u')]
  const starts = actionOf(
    steer({ source, destination: t(2), ours: known, offsets: [offset(0)], owned: ['t/0'] }),
    'commitStarts',
  )
  assert.deepEqual([starts.first, starts.units], [false, ['t/1']])
})

test('after a lost commit nothing is a first start, for provenance still knows of one', () => {
  const of = { source: t(2), destination: t(2), ours: [ours('t', { parts: 1 })] }
  const starts = actionOf(steer(of, { start: 'latest' }), 'commitStarts')
  assert.deepEqual([starts.first, starts.units], [false, ['t/1']])
})

test('the starts of a topic made anew name its old id; with gaps: stop there are none', () => {
  const of = { source: t(1, { topicId: 'new-id' }), destination: t(), ours: [ours('t', { parts: 1 })] }
  const starts = actionOf(steer(of), 'commitStarts')
  assert.deepEqual(
    starts.parts.map(({ topicId, oldId }) => [topicId, oldId]),
    [['new-id', 't-id']],
  )
  assert.deepEqual(steer(of, { gaps: 'stop' }), [])
})

test('MIRROR 26: what nobody owns is committed again at 12 h, exactly as it is stored, and not before', () => {
  const since = (sinceMs: number | null, owned: string[] = []): ViewOf => ({
    ...{ source: t(), destination: t(), ours: [ours('t', { parts: 1 })], owned },
    offsets: [offset(0, { sinceMs })],
  })
  const again = steer(since(seenAtMs - checkpointAgainMs))
  assert.deepEqual(wordsOf(again), ['commitAgain'])
  const { entries, units } = actionOf(again, 'commitAgain')
  assert.deepEqual(units, ['t/0'])
  const { sinceMs: _, ...stored } = viewOf(since(0)).offsets.get('t/0') ?? { sinceMs: 0 }
  assert.deepEqual(entries, [stored])
  assert.deepEqual(steer(since(seenAtMs - checkpointAgainMs + 1)), [])
  // Found at the first look: nobody knows how old it is.
  assert.deepEqual(wordsOf(steer(since(null))), ['commitAgain'])
  for (const sinceMs of [null, seenAtMs - checkpointAgainMs]) assert.deepEqual(steer(since(sinceMs, ['t/0'])), [])
})

test('MIRROR 26: the checkpoint of a source topic with another id is not committed again, one without ids is', () => {
  const of = (sourceId: string, topicId = 't-id'): ViewOf => ({
    ...{ source: t(1, { topicId }), destination: t(), ours: [ours('t', { parts: 1, sourceId: topicId })] },
    offsets: [offset(0, { sourceId, sinceMs: null })],
  })
  assert.deepEqual(steer(of('other-id')), [])
  for (const [sourceId, topicId] of [['t-id'], [''], ['other-id', '']] as const)
    assert.deepEqual(wordsOf(steer(of(sourceId, topicId))), ['commitAgain'], `${sourceId} ${topicId}`)
  assert.deepEqual(steer({ ...of('t-id'), absent: { t: 1 } }), [])
})

test('configs are synced where sync is on and both sides are known, and nothing is sent where nothing differs', () => {
  const running: ViewOf = {
    ...{ source: t(), destination: t(), offsets: [offset()], ours: [ours('t', { parts: 1, set: ['retention.ms'] })] },
    configs: { source: { t: [] }, destination: { t: [setting('retention.ms', '5')] } },
  }
  assert.deepEqual(steer(running), [{ do: 'syncConfigs', changes: [{ topic: 't', set: {}, unset: ['retention.ms'] }] }])
  assert.deepEqual(steer(running, { destination: { config: { sync: false } } }), [])
  assert.deepEqual(steer({ ...running, configs: { source: { t: [] } } }), [])
  assert.deepEqual(steer({ ...running, configs: { destination: { t: [] } } }), [])
})
