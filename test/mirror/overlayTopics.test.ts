import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noOverlay, type Overlay } from '../../engine/flow/overlay.ts'
import { unitLookMs } from '../../engine/limits.ts'
import { mirrorKind } from '../../engine/mirror/kind.ts'
import { batchOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

const put = (topics: Record<string, 'in' | 'out'>): { overlay: Overlay } => ({
  overlay: { ...noOverlay, topics: new Map(Object.entries(topics)) },
})

async function started(topics: string[]) {
  const mirror = mirrorOf({ brokers: 1, spec: { topics: { include: ['t.*'], refreshMs: 600_000 } } })
  for (const topic of topics) mirror.east.topic(topic, 2)
  await mirror.start()
  const runs = () =>
    [...mirror.units()]
      .map(({ part }) => `${part.topic}/${part.partition}`)
      .sort()
      .join(' ')
  return { ...mirror, runs }
}

test('a topic that is put out stops at once, before anybody has looked again, and one that is put in is found at once', async () => {
  const { clock, east, west, runs, change, stop, seen } = await started(['t1', 't2', 'other'])
  await clock.until(() => runs() === 't1/0 t1/1 t2/0 t2/1')
  const look = east.admin.look.bind(east.admin)
  const gate = Promise.withResolvers<void>()
  east.admin.look = async topics => {
    if (topics === 'all') await gate.promise
    return await look(topics)
  }
  change(put({ t2: 'out', other: 'in' }))
  await clock.until(() => runs() === 't1/0 t1/1')
  // The look of before says t2 still: nothing that is read from it does.
  const { spec, view } = seen()
  assert.ok(view)
  assert.ok(view.topics.has('t2'))
  assert.deepEqual(mirrorKind.parts?.(spec, view), ['t1/0', 't1/1'])
  assert.deepEqual(
    mirrorKind.report(spec, view, null, { nowMs: clock.nowMs(), wallMs: clock.wallMs() }).topics.map(of => of.topic),
    ['t1'],
  )
  gate.resolve()
  await clock.until(() => runs() === 'other/0 other/1 t1/0 t1/1')
  east.write({ topic: 'other', partition: 0 }, batchOf(['a']))
  await clock.until(() => west.log({ topic: 'other', partition: 0 }).end === 1n)
  await stop()
})

test('what was put out goes on from its checkpoint when it is put in again; its loop guard has ended meanwhile', async () => {
  const { clock, east, west, runs, change, stop, seen } = await started(['t1', 't2'])
  const part = { topic: 't2', partition: 0 }
  east.write(part, batchOf(['a', 'b']))
  await clock.until(() => east.stored('millrace.flow').get('t2/0')?.offset === 2n)
  change(put({ t2: 'out' }))
  const ended = () => seen().view?.ours?.get('t2')?.endedMs ?? null
  await clock.until(() => runs() === 't1/0 t1/1' && ended() !== null)
  east.write(part, batchOf(['c']))
  await clock.advance(5 * unitLookMs)
  assert.equal(west.log(part).end, 2n)
  change(put({ t2: 'in' }))
  await clock.until(() => west.log(part).end === 3n)
  assert.equal(ended(), null)
  await stop()
})

test('names that are reserved, and topics that no pattern takes, are copied when they are put in; our own never are', async () => {
  const { clock, runs, change, stop } = await started(['__mine', 'far', 't1'])
  change(put({ __mine: 'in', far: 'in', 'millrace.mirror.x': 'in', __consumer_offsets: 'in' }))
  await clock.until(() => runs() === '__mine/0 __mine/1 far/0 far/1 t1/0 t1/1')
  await stop()
})

test('a topic that is put in and not at the source yet is waited for, and said once', async () => {
  const { clock, east, runs, change, events, stop } = await started(['t1'])
  change(put({ later: 'in' }))
  const said = () => events.filter(({ code, topic }) => code === 'source-missing' && topic === 'later').length
  await clock.until(() => said() === 1)
  east.topic('later', 1)
  await clock.until(() => runs() === 'later/0 t1/0 t1/1', 700_000)
  assert.equal(said(), 1)
  await stop()
})

test('provenance of a topic that left ends only when no unit of it is owned any more, so that nobody copies back too early', async () => {
  const { clock, change, stop, seen } = await started(['t1', 't2'])
  await clock.until(() => (seen().view?.ours?.get('t2')?.parts ?? 0) === 2)
  change(put({ t2: 'out' }))
  const { spec, view } = seen()
  assert.ok(view)
  const actions = (owned: string[], deleting = false) =>
    mirrorKind
      .steer(spec, { ...view, owned: new Set(owned), deleting })
      .flatMap(action => (action.do === 'provenance' ? action.records : []))
      .filter(record => record.endedMs !== null)
      .map(record => record.topic)
  assert.deepEqual(actions(['t1/0', 't2/1']), [])
  assert.deepEqual(actions(['t1/0']), ['t2'])
  // A flow that is asked to go ends all that it wrote down, when nothing of it runs (M-74).
  assert.deepEqual(actions(['t1/0'], true), [])
  assert.deepEqual(actions([], true), ['t1', 't2'])
  await clock.until(() => seen().view?.ours?.get('t2')?.endedMs != null)
  await stop()
})
