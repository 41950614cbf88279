import assert from 'node:assert/strict'
import { crc32c } from '../../engine/adapters/kafka/native.ts'
import { at, headerBytes } from '../../engine/batch/header.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import type { Unit } from '../../engine/mirror/run.ts'
import { batchOf, valuesOf } from '../fakes/kafka/batches.ts'
import type { FakeKafka } from '../fakes/kafka/cluster.ts'
import { mirrorOf } from './mirrorOf.ts'
import type { Random } from './random.ts'

export type Mirror = ReturnType<typeof mirrorOf>

export const part = { topic: 't', partition: 0 }
export const group = 'millrace.flow'

/** One partition on both sides; `limitBytes` = `max.message.bytes` of the destination topic. */
export function odd(how: { limitBytes?: number; untilEnd?: boolean; spec?: Record<string, unknown> } = {}): Mirror {
  const { limitBytes, ...more } = how
  const mirror = mirrorOf({ brokers: 1, ...more })
  mirror.east.topic('t', 1)
  mirror.west.topic('t', 1, limitBytes === undefined ? {} : { 'max.message.bytes': String(limitBytes) })
  return mirror
}

export function limitTo(cluster: FakeKafka, bytes: number): void {
  cluster.brokers.state.topics.get('t')?.configs.set('max.message.bytes', String(bytes))
}

export function unitOf(mirror: Mirror): Unit {
  const [unit] = mirror.units()
  assert.ok(unit)
  return unit
}

export const valuesIn = (cluster: FakeKafka) => cluster.log(part).batches.flatMap(valuesOf)
export const headersIn = (cluster: FakeKafka) => cluster.log(part).batches.map(({ header }) => header)
export const countsIn = (cluster: FakeKafka) => headersIn(cluster).map(header => header.recordsCount)
export const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `${from + i}`)
/** Values that begin with their number, `bytes` long; the rest is noise that no codec presses, or one letter. */
export function sized(from: number, count: number, bytes: number, random: Random | null = null): Buffer[] {
  return Array.from({ length: count }, (_, i) => {
    const value = Buffer.alloc(bytes, 'v')
    if (random) for (let b = 0; b < bytes; b++) value[b] = random.below(256)
    value.write(`${from + i}.`)
    return value
  })
}
export const numbersIn = (cluster: FakeKafka) => valuesIn(cluster).map(value => Number.parseInt(value, 10))
export const upTo = (count: number) => [...Array(count).keys()]

export function signed(bytes: Buffer): Buffer {
  bytes.writeUInt32BE(crc32c(bytes.subarray(at.attributes)), at.crc)
  return bytes
}

/** Compaction has taken records off its end. */
export function thin(bytes: Buffer, missing = 2): Buffer {
  bytes.writeInt32BE(bytes.readInt32BE(at.lastOffsetDelta) + missing, at.lastOffsetDelta)
  return signed(bytes)
}

/** A right CRC over records that the codec cannot open. */
export function unopened(count: number, bytes = 200): Buffer {
  const batch = batchOf(sized(0, count, bytes), { codec: 'gzip' })
  batch.fill(0xee, headerBytes)
  return signed(batch)
}

/** Until so many records are at the destination. */
export async function copied(mirror: Mirror, count: number): Promise<void> {
  await mirror.clock.until(() => countsIn(mirror.west).reduce((sum, one) => sum + one, 0) >= count)
}

export async function stopAt(mirror: Mirror, checkpoint: number): Promise<void> {
  await mirror.stop()
  assert.equal(mirror.east.stored(group).get('t/0')?.offset, BigInt(checkpoint))
  assert.equal(mirror.east.account.heldBytes, 0)
}

/** Until the partition has ended in error at this offset. */
export async function failsAt(mirror: Mirror, code: string, offset: number): Promise<void> {
  const { clock, events } = mirror
  await clock.until(() => events.some(event => event.code === code && event['offset'] === BigInt(offset)))
}

export function skip(mirror: Mirror, offset: number, count: number): void {
  mirror.change({ overlay: { ...noOverlay, skips: new Map([['t/0', { offset: BigInt(offset), records: count }]]) } })
}

export async function begunAt(mirror: Mirror, offset: number): Promise<void> {
  const entry = { ...part, offset: BigInt(offset), epoch: -1, metadata: '' }
  const { east } = mirror
  await mirror.over(east.checkpoints.save(group, [entry], () => true, new AbortController().signal))
}
