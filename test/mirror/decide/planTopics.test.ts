import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fault } from '../../../engine/errors.ts'
import { asideKey } from '../../../engine/flow/contract.ts'
import { firstStartsMax, rivalWaitMs } from '../../../engine/limits.ts'
import { type PartitionPlan, planTopics } from '../../../engine/mirror/decide/planTopics.ts'
import { back, ours, seenAtMs, specOf, type ViewOf, viewOf } from './viewOf.ts'

const t = (partitions = 1, more: Partial<NonNullable<ViewOf['source']>[number]> = {}) => [
  { topic: 't', partitions, ...more },
]
const guarded = [ours('t')]
const copied = [ours('t', { parts: 2 })]
const offset = (partition = 0, more: Partial<NonNullable<ViewOf['offsets']>[number]> = {}) => ({
  topic: 't',
  partition,
  ...more,
})
const fault: Fault = { code: 'kafka-not-authorized', message: 'no right', hint: 'ask for it' }
const aside = (action: string, item?: string) => new Map([[asideKey(action, item), fault]])

type Row = {
  says: string
  of: ViewOf
  spec?: Record<string, unknown>
  /** Of the partitions of `t`, in order: what it is, its fault's code, and whether somebody has to do something. */
  gives: [is: PartitionPlan['is'], code?: string, hinted?: boolean][]
  message?: RegExp
  hint?: RegExp
}

const asked: ViewOf = {
  ...{ source: t(), destination: t(), ours: guarded, offsets: [offset()], upstream: [back('t', { parts: 0 })] },
}
const rival = (forMs: number): NonNullable<ViewOf['rivals']> =>
  new Map([['t', { flow: 'back', sinceMs: seenAtMs - forMs }]])
const table: Row[] = [
  {
    says: 'a name that cannot be used refuses the whole topic',
    of: { source: t(2), destination: t(2), refused: { t: 't: it is reserved' }, ours: copied, offsets: [offset()] },
    gives: [
      ['refused', 'config-invalid', true],
      ['refused', 'config-invalid', true],
    ],
    message: /^t: it is reserved$/,
  },
  {
    says: 'records that came from the destination refuse the whole topic, also where it runs',
    of: { source: t(), destination: t(), ours: guarded, upstream: [back('t')], offsets: [offset()], owned: ['t/0'] },
    gives: [['refused', 'mirror-loop', true]],
    message: /flow back over west-id to the source east-id/,
  },
  {
    says: 'an ended flow back is no loop',
    of: {
      ...{ source: t(), destination: t(), ours: guarded, offsets: [offset()] },
      upstream: [back('t', { endedMs: 1 })],
    },
    gives: [['ready']],
  },
  {
    says: 'without the loop guard nothing is a loop, and nothing waits for provenance',
    of: { source: t(2), destination: t(2), ours: null, upstream: [back('t')], offsets: [offset()] },
    spec: { loopGuard: 'off' },
    gives: [['ready'], ['start']],
  },
  {
    says: 'it waits for its loop guard, which nobody has to help',
    of: { source: t(), destination: t(), offsets: [offset()] },
    gives: [['waiting', 'destination-missing', false]],
    message: /loop guard/,
  },
  {
    says: 'it waits for a loop guard that says ended, as for none',
    of: { source: t(), destination: t(), ours: [ours('t', { endedMs: 1 })], offsets: [offset()] },
    gives: [['waiting', 'destination-missing', false]],
  },
  {
    says: 'the loop guard of another source topic is none',
    of: { source: t(), destination: t(), ours: [ours('t', { src: 'u' })], offsets: [offset()] },
    gives: [['waiting', 'destination-missing', false]],
  },
  {
    says: 'it waits for a loop guard that only asks',
    of: { source: t(), destination: t(), ours: [ours('t', { parts: 1, claims: true })], offsets: [offset()] },
    gives: [['waiting', 'destination-missing', false]],
  },
  {
    says: 'a flow back that has to give way is waited for',
    of: { ...asked, rivals: rival(rivalWaitMs - 1) },
    gives: [['waiting', 'mirror-loop', false]],
    message: /^t: flow back asks to copy it the other way round/,
  },
  {
    says: 'where it runs nothing waits for a flow back that has to give way',
    of: { ...asked, rivals: rival(0), owned: ['t/0'] },
    gives: [['ready']],
  },
  {
    says: 'a flow back that does nothing is not waited for without end',
    of: { ...asked, rivals: rival(rivalWaitMs) },
    gives: [['ready']],
  },
  {
    says: 'why the loop guard cannot be written is said',
    of: { source: t(), destination: t(), aside: aside('provenance') },
    gives: [['waiting', 'kafka-not-authorized', true]],
  },
  {
    says: 'a topic that the destination has not yet is being made',
    of: { source: t(), ours: guarded },
    gives: [['waiting', 'destination-missing', false]],
    message: /has no topic t yet/,
  },
  {
    says: 'an answer with an error does not show the topic',
    of: { source: t(), destination: t(1, { code: 29 }), ours: guarded, offsets: [offset(0, { destinationId: '' })] },
    gives: [['waiting', 'destination-missing', false]],
  },
  {
    says: 'why it cannot be made is said',
    of: { source: t(), ours: guarded, aside: aside('createTopic', 't') },
    gives: [['waiting', 'kafka-not-authorized', true]],
  },
  {
    says: 'with create: false somebody has to make it',
    of: { source: t(), ours: guarded },
    spec: { destination: { create: false } },
    gives: [['waiting', 'destination-missing', true]],
    message: /has no topic t$/,
  },
  {
    says: 'one that was deleted at the destination after it was copied is not made anew by itself',
    of: { source: t(2), ours: copied, offsets: [offset(0)] },
    gives: [
      ['waiting', 'destination-missing', true],
      ['waiting', 'destination-missing', true],
    ],
    message: /deleted after it was copied/,
  },
  {
    says: 'one that has only its starts was not copied yet',
    of: { source: t(), ours: copied, offsets: [offset(0, { destinationId: '' })] },
    gives: [['waiting', 'destination-missing', false]],
    message: /it is being made/,
  },
  {
    says: 'partitions that the destination lacks are being made, the others run',
    of: { source: t(2), destination: t(1), ours: guarded, offsets: [offset(0), offset(1)] },
    gives: [['ready'], ['waiting', 'destination-missing', false]],
    message: /has no partition 1 of t yet/,
  },
  {
    says: 'why partitions cannot be added is said',
    of: { source: t(2), destination: t(1), ours: guarded, offsets: [offset(0)], aside: aside('growTopic', 't') },
    gives: [['ready'], ['waiting', 'kafka-not-authorized', true]],
  },
  {
    says: 'with create: false somebody has to add them',
    of: { source: t(2), destination: t(1), ours: guarded, offsets: [offset(0)] },
    spec: { destination: { create: false } },
    gives: [['ready'], ['waiting', 'destination-missing', true]],
  },
  {
    says: 'more partitions at the destination stay empty',
    of: { source: t(1), destination: t(3), ours: guarded, offsets: [offset(0)] },
    gives: [['ready']],
  },
  {
    says: 'a partition without a leader at the destination waits, also one with a checkpoint',
    of: { source: t(2), destination: t(2, { leaderless: [0] }), ours: copied, offsets: [offset(0), offset(1)] },
    gives: [['waiting', 'kafka-unreachable', false], ['ready']],
  },
  {
    says: 'a start that is missing is missing alone, until the topic has had a checkpoint of it',
    of: { source: t(3), destination: t(3), ours: copied, offsets: [offset(0), offset(1)] },
    gives: [['ready'], ['ready'], ['start']],
  },
  {
    says: 'why starts cannot be committed is said',
    of: { source: t(), destination: t(), ours: guarded, aside: aside('commitStarts') },
    gives: [['start', 'kafka-not-authorized', true]],
  },
  {
    says: 'a checkpoint that was there and is gone is an error, whatever gaps says',
    of: { source: t(3), destination: t(3), ours: copied, offsets: [offset(1)] },
    gives: [['error', 'checkpoint-lost', true], ['ready'], ['start']],
    message: /t\/0: .*group millrace\.flow/,
    hint: /millrace offsets reset flow\/t\/0 --to .*--topic t:0 --reset-offsets/,
  },
  {
    says: 'a topic made anew starts anew',
    of: { source: t(2, { topicId: 'new-id' }), destination: t(2), ours: copied },
    gives: [['start'], ['start']],
  },
  {
    says: 'with gaps: stop it is an error',
    of: { source: t(2, { topicId: 'new-id' }), destination: t(2), ours: copied },
    spec: { gaps: 'stop' },
    gives: [
      ['error', 'topic-recreated', true],
      ['error', 'topic-recreated', true],
    ],
  },
  {
    says: 'with gaps: stop a topic that never had a checkpoint starts',
    of: { source: t(), destination: t(), ours: guarded },
    spec: { gaps: 'stop' },
    gives: [['start']],
  },
  {
    says: 'what runs is ready, whatever the look says: what it meets it says itself',
    of: { source: t(4), destination: t(2, { leaderless: [0] }), ours: copied, owned: ['t/0', 't/1', 't/2'] },
    gives: [['ready'], ['ready'], ['ready'], ['waiting', 'destination-missing', false]],
  },
]

for (const { says, of, spec, gives, message, hint } of table) {
  test(says, () => {
    const plans = planTopics(specOf(spec), viewOf(of))
    const plan = plans.find(one => one.topic === 't')
    assert.ok(plan)
    assert.deepEqual(
      plan.partitions.map(({ partition, is, why }) => [partition, is, why?.code, why && why.hint !== null]),
      gives.map(([is, code, hinted], partition) => [partition, is, code, hinted ?? null]),
    )
    if (message) assert.match(plan.partitions.find(one => one.why !== null)?.why?.message ?? '', message)
    if (hint) assert.match(plan.partitions.find(one => one.why !== null)?.why?.hint ?? '', hint)
    assert.equal(plan.refused !== null, gives[0]?.[0] === 'refused')
  })
}

test('topics are in order of names, with the name, id and topic of the destination', () => {
  const plans = planTopics(
    specOf({ naming: { prefix: 'east.' } }),
    viewOf({
      source: [
        { topic: 'a', partitions: 1 },
        { topic: 'b', partitions: 1 },
      ],
      names: { a: 'east.a', b: 'east.b' },
      destination: [{ topic: 'east.b', partitions: 4 }],
      ours: [ours('east.a', { src: 'a' }), ours('east.b', { src: 'b' })],
    }),
  )
  assert.deepEqual(
    plans.map(({ topic, topicId, destination, target }) => [topic, topicId, destination, target?.topicId ?? null]),
    [
      ['a', 'a-id', 'east.a', null],
      ['b', 'b-id', 'east.b', 'east.b-id'],
    ],
  )
  assert.deepEqual(
    plans.map(plan => plan.partitions.map(one => one.is)),
    [['waiting'], ['start']],
  )
})

test('more first starts than one commit holds are refused, unless they begin at the earliest or are no first ones', () => {
  const many = { source: t(firstStartsMax + 1), destination: t(firstStartsMax + 1), ours: guarded }
  const isOf = (start: unknown, of: ViewOf) =>
    new Set(planTopics(specOf({ start }), viewOf(of)).flatMap(plan => plan.partitions.map(one => one.is)))
  assert.deepEqual(isOf('latest', many), new Set(['refused']))
  assert.deepEqual(isOf({ timeMs: 5 }, many), new Set(['refused']))
  assert.deepEqual(isOf('earliest', many), new Set(['start']))
  assert.deepEqual(isOf('latest', { ...many, ours: [ours('t', { parts: 1 })] }), new Set(['error', 'start']))
  assert.deepEqual(isOf('latest', { ...many, offsets: [offset()] }), new Set(['ready', 'start']))
  assert.deepEqual(isOf('latest', { ...many, source: t(firstStartsMax) }), new Set(['start']))
  const [plan] = planTopics(specOf({ start: 'latest' }), viewOf(many))
  assert.deepEqual([plan?.refused?.code, plan?.refused?.hint], ['config-invalid', 'make two flows'])
})
