import { Buffer } from 'node:buffer'
import type { KafkaRecord, RecordHeader } from '../engine/batch/records.ts'
import type { Chance } from '../engine/ports/clock.ts'
import { between } from './seeded.ts'

export type SampleRecord = Omit<KafkaRecord, 'offset'>

/** Everything that a copy might lose: a double name, its order, a null and an empty value. */
const headerKinds: [name: string, value: string | null][][] = [
  [],
  [
    ['a', 'one'],
    ['b', null],
    ['a', ''],
  ],
  [['trace', '7f3a']],
]
const text = '{"event":"page","user":"u-1042","path":"/products/77","referrer":"search","ms":184} zażółć gęślą jaźń ≠ '

/**
 * Record number `index` of a partition: null, empty and real keys; null (a tombstone), empty and real values of
 * `valueBytes` (from, to) bytes; headers with doubles; times that mostly grow.
 */
export function variedRecord(
  chance: Chance,
  index: number,
  how: { timeMs: number; valueBytes: [number, number] },
): SampleRecord {
  return {
    timestamp: BigInt(how.timeMs + index - (chance() < 0.1 ? between(chance, 1, 50) : 0)),
    key: keyOf(chance, index),
    value: bytesOf(chance, index, how.valueBytes),
    headers: headersOf(chance),
  }
}

function keyOf(chance: Chance, index: number): Buffer | null {
  const kind = chance()
  if (kind < 0.2) return null
  if (kind < 0.25) return Buffer.alloc(0)
  return Buffer.from(`key-${index % 997}`)
}

function bytesOf(chance: Chance, index: number, [from, to]: [number, number]): Buffer | null {
  const kind = chance()
  if (kind < 0.03) return null
  if (kind < 0.06) return Buffer.alloc(0)
  const value = Buffer.alloc(between(chance, from, to), text)
  // A part that no codec makes smaller, and the index, so that values differ.
  for (let at = 0; at < value.length / 4; at++) value[at] = Math.floor(chance() * 256)
  value.write(`${index} `, 0, 'latin1')
  return value
}

function headersOf(chance: Chance): RecordHeader[] {
  const kind = headerKinds[Math.floor(chance() * headerKinds.length)] ?? []
  return kind.map(([name, value]) => ({ name: Buffer.from(name), value: value === null ? null : Buffer.from(value) }))
}
