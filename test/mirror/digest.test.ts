import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codec } from '../../engine/adapters/kafka/native.ts'
import { readHeader } from '../../engine/batch/header.ts'
import { type KafkaRecord, records } from '../../engine/batch/records.ts'
import { digestRange, digestRecord } from '../../engine/mirror/digest.ts'

/** V-1's batch: k1=hello with headers h:1 and h:null, k2=null, null=empty. */
const v1 =
  '00000000000003e80000005600000005026b3acc2f0010000000020000018bcfe568000000018bcfe5680a0000000000001b59000300000028' +
  '0000000328000000046b310a68656c6c6f040268023102680110000a02046b3201000c001404010000'

function recordsOf(hex: string): KafkaRecord[] {
  const bytes = Buffer.from(hex, 'hex')
  return records({ header: readHeader(bytes), bytes }, codec)
}

const base: KafkaRecord = {
  offset: 0n,
  timestamp: 1_700_000_000_000n,
  key: Buffer.from('k'),
  value: Buffer.from('v'),
  headers: [
    { name: Buffer.from('a'), value: Buffer.from('1') },
    { name: Buffer.from('b'), value: null },
  ],
}

test("MIRROR 1: V-7 the digests of V-1's records and of their range are those of the design", () => {
  const digests = recordsOf(v1).map(digestRecord)
  assert.deepEqual(
    digests.map(digest => digest.toString('hex').slice(0, 16)),
    ['9f65ce51988ce5d2', '770a50db5ddd581d', '1f9d6d7a1478f54c'],
  )
  assert.equal(digestRange(digests).toString('hex'), '91a8b1b76b1f32238f826ff2a922dbd2843541417dbdc54c3bd8e33d8aae3e70')
})

test('the offset is not in the digest', () => {
  const later: KafkaRecord = { ...base, offset: 5n }
  assert.deepEqual(digestRecord(later), digestRecord(base))
})

test('null and empty, the order of headers and a missing one all make another digest', () => {
  const others: KafkaRecord[] = [
    { ...base, timestamp: base.timestamp + 1n },
    { ...base, key: null },
    { ...base, key: Buffer.alloc(0) },
    { ...base, value: null },
    { ...base, value: Buffer.alloc(0) },
    { ...base, key: Buffer.from('kv'), value: Buffer.alloc(0) },
    { ...base, headers: [] },
    { ...base, headers: base.headers.toReversed() },
    { ...base, headers: base.headers.map(header => ({ ...header, value: Buffer.alloc(0) })) },
  ]
  const digests = [base, ...others].map(record => digestRecord(record).toString('hex'))
  assert.equal(new Set(digests).size, digests.length)
})

test('the digest of a range depends on its order, and that of nothing is 32 zero bytes', () => {
  const [one, two] = [digestRecord(base), digestRecord({ ...base, key: null })]
  assert.notDeepEqual(digestRange([one, two]), digestRange([two, one]))
  assert.deepEqual(digestRange([]), Buffer.alloc(32))
})
