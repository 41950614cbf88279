import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import type { SteerContext } from '../../engine/flow/contract.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { checkpointAgainMs } from '../../engine/limits.ts'
import { checkpointText } from '../../engine/mirror/decide/checkpointMetadata.ts'
import { mirrorKind } from '../../engine/mirror/kind.ts'
import type { MirrorLook } from '../../engine/mirror/look.ts'
import type { Rights } from '../../engine/mirror/rights.ts'
import { mirrorSpec } from '../../engine/mirror/spec.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeKafka } from '../fakes/kafka/cluster.ts'

const hourMs = 60 * 60 * 1_000

/** The leader's side of a flow whose partitions nobody owns, as when it is paused. */
function leaderOf() {
  const clock = manualClock()
  const [east, west] = ['east', 'west'].map(name => fakeKafka({ clock, name, brokers: 1, chance: () => 0.5 }))
  if (!east || !west) throw new Error('two clusters')
  const spec = mirrorSpec.parse({ from: 'east', to: 'west', topics: { include: ['t'] }, loopGuard: 'off' })
  const ctx: SteerContext = {
    ...{ flow: 'flow', epoch: 1, clock, codec, crc: crc32c, untilEnd: false, signal: new AbortController().signal },
    kafka: name => (name === 'east' ? east : west),
    chance: () => 0.5,
    mayWrite: () => true,
    tell() {},
  }
  const over = async <T>(promise: Promise<T>): Promise<T> => {
    let isOver = false
    const mark = () => {
      isOver = true
    }
    promise.then(mark, mark)
    await clock.until(() => isOver)
    return promise
  }
  let look: (MirrorLook & Rights) | null = null
  /** Looks, and does what there is to do until there is nothing more; gives the commits. `meanwhile`: after each look. */
  async function round(meanwhile = async () => {}): Promise<{ topic: string; partition: number }[][]> {
    const commits: { topic: string; partition: number }[][] = []
    for (let n = 0; n < 5; n++) {
      look = await over(mirrorKind.look(spec, { ...ctx, overlay: noOverlay }, look))
      const now = { nowMs: clock.nowMs(), wallMs: clock.wallMs(), owned: new Set<string>(), aside: new Map() }
      const view = { ...look, ...now, flow: 'flow', epoch: 1, overlay: noOverlay }
      const [action] = mirrorKind.steer(spec, view)
      if (!action) return commits
      await meanwhile()
      if (action.do === 'commitAgain')
        commits.push(action.entries.map(({ topic, partition }) => ({ topic, partition })))
      await over(mirrorKind.perform(action, spec, view, ctx))
    }
    throw new Error(`there is always something more to do: ${JSON.stringify(commits)}`)
  }
  return { clock, east, west, over, round }
}

test('MIRROR 26: what nobody owns is stored once when it is found, and in 13 h exactly once more, at 12 h', async () => {
  const { clock, east, west, over, round } = leaderOf()
  for (const cluster of [east, west]) await over(cluster.admin.createTopic('t', 2))
  const [source] = (await over(east.admin.look(['t']))).topics
  const ids = { sourceId: source?.topicId ?? '', destinationId: '', epoch: -1, destinationNext: null }
  const entries = [0, 1].map(partition => ({
    ...{ topic: 't', partition, offset: 0n, epoch: -1 },
    metadata: checkpointText(partition === 0 ? ids : { ...ids, sourceId: 'another-topic-of-thatname' }),
  }))
  const signal = new AbortController().signal
  await over(east.checkpoints.save('millrace.flow', entries, () => true, signal))
  // The checkpoint of another topic is not kept alive.
  const only = [[{ topic: 't', partition: 0 }]]
  assert.deepEqual(await round(), only)
  const sinceMs = clock.nowMs()
  const later: number[] = []
  for (let hour = 1; hour <= 13; hour++) {
    await clock.advance(hourMs)
    const commits = await round()
    if (commits.length === 0) continue
    assert.deepEqual(commits, only)
    later.push(Math.round((clock.nowMs() - sinceMs) / hourMs))
  }
  assert.deepEqual(later, [checkpointAgainMs / hourMs])
})

test('an offset that somebody sets while the old one is about to be stored again stays as it was set', async () => {
  const { east, west, over, round } = leaderOf()
  for (const cluster of [east, west]) await over(cluster.admin.createTopic('t', 1))
  const ids = { sourceId: east.topicIdOf('t'), destinationId: '', epoch: -1, destinationNext: null }
  const signal = new AbortController().signal
  const store = (offset: bigint, metadata: string) =>
    over(
      east.checkpoints.save(
        'millrace.flow',
        [{ topic: 't', partition: 0, offset, epoch: -1, metadata }],
        () => true,
        signal,
      ),
    )
  await store(7n, checkpointText(ids))
  // As kafka-consumer-groups.sh --reset-offsets does it.
  await round(async () => {
    if (east.stored('millrace.flow').get('t/0')?.offset === 7n) await store(0n, '')
  })
  assert.equal(east.stored('millrace.flow').get('t/0')?.offset, 0n)
})
