import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import type { WorkerContext } from '../../engine/flow/contract.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { checkpointOf, restart } from '../../engine/flow/window.ts'
import { checkpointText } from '../../engine/mirror/decide/checkpointMetadata.ts'
import { placer } from '../../engine/mirror/placer.ts'
import type { Unit } from '../../engine/mirror/run.ts'
import { mirrorSpec } from '../../engine/mirror/spec.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { manualClock } from '../fakes/clock.ts'
import { batchOf } from '../fakes/kafka/batches.ts'
import { fakeKafka } from '../fakes/kafka/cluster.ts'

const part = { topic: 't', partition: 0 }

/** A cluster whose answers about offsets wait, while that is asked for, until they are let go. */
function held(cluster: KafkaCluster): { cluster: KafkaCluster; hold(): () => void } {
  let gate: Promise<void> | null = null
  const admin: KafkaCluster['admin'] = {
    ...cluster.admin,
    async offsets(parts, at) {
      await gate
      return await cluster.admin.offsets(parts, at)
    },
  }
  return {
    cluster: Object.create(cluster, { admin: { value: admin } }),
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return () => {
        gate = null
        resolve()
      }
    },
  }
}

test('where a unit would have begun that was stopped meanwhile moves nothing of the one that runs in its place', async () => {
  const clock = manualClock()
  const [east, west] = ['east', 'west'].map(name => fakeKafka({ clock, name, brokers: 1, chance: () => 0.5 }))
  if (!east || !west) throw new Error('two clusters')
  for (const cluster of [east, west]) cluster.topic('t')
  for (let i = 0; i < 10; i++) east.write(part, batchOf([`${i}`]))
  const ids = { sourceId: east.topicIdOf('t'), destinationId: west.topicIdOf('t'), epoch: -1, destinationNext: null }
  const store = (offset: bigint) =>
    east.checkpoints.save(
      'millrace.flow',
      [{ ...part, offset, epoch: -1, metadata: checkpointText(ids) }],
      () => true,
      new AbortController().signal,
    )
  const over = async <T>(promise: Promise<T>): Promise<T> => {
    let isOver = false
    const mark = () => {
      isOver = true
    }
    promise.then(mark, mark)
    await clock.until(() => isOver)
    return promise
  }
  const source = held(east)
  const ctx: WorkerContext = {
    ...{ flow: 'flow', clock, codec, crc: crc32c, untilEnd: false, chance: () => 0.5, overlay: () => noOverlay },
    kafka: name => (name === 'east' ? source.cluster : west),
    ...{ mayWrite: () => true, mayCommit: () => true },
    tell() {},
    fatal(error) {
      throw error
    },
  }
  const spec = mirrorSpec.parse({ from: 'east', to: 'west', topics: { include: ['t'] } })
  const units = new Map<string, Unit>()
  const place = placer({ spec, ctx, units })
  await over(store(5n))
  const first = await over(place(part, new AbortController().signal))
  if (!first || first.error) throw new Error('it has begun')
  const { unit } = first
  units.set('t/0', unit)

  const letGo = source.hold()
  const stop = new AbortController()
  const late = place(part, stop.signal)
  await clock.advance(1_000)
  stop.abort()
  assert.equal(await late, null)
  // Another one runs, and has stored what it copied.
  restart(unit.window, { offset: 9n, epoch: 0 })
  unit.committed = 9n
  letGo()
  await clock.advance(10_000)
  assert.equal(checkpointOf(unit.window), 9n)
})
