import { Buffer } from 'node:buffer'
import { codec, crc32c } from '../../../engine/adapters/kafka/native.ts'
import { encode } from '../../../engine/batch/encode.ts'
import { at, type CodecName, control, type Header, readHeader, transactional } from '../../../engine/batch/header.ts'
import { records } from '../../../engine/batch/records.ts'
import type { Batch } from '../../../engine/ports/kafka.ts'

const timeMs = 1_700_000_000_000n

/** A batch of records with these values, as a producer would write it. */
export function batchOf(
  values: (string | Buffer)[],
  how: { codec?: CodecName; producerId?: bigint; transactional?: boolean } = {},
): Buffer {
  const list = values.map(value => ({ timestamp: timeMs, key: null, value: Buffer.from(value), headers: [] }))
  const kind = { codec: how.codec ?? 'none', transactional: how.transactional ?? false }
  const bytes = encode(list, kind, codec, crc32c)
  if (how.producerId !== undefined) {
    bytes.writeBigInt64BE(how.producerId, at.producerId)
    bytes.writeUInt32BE(crc32c(bytes.subarray(at.attributes)), at.crc)
  }
  return bytes
}

/** A batch of one record that is `bytes` long in all, or a few less. */
export function batchOfBytes(bytes: number): Buffer {
  return batchOf([Buffer.alloc(bytes - 80, 97)])
}

/** The marker that ends a transaction (M-33). */
export function marker(producerId: bigint, commit: boolean): Buffer {
  const key = Buffer.from([0, 0, 0, commit ? 1 : 0])
  const record = { timestamp: timeMs, key, value: Buffer.alloc(6), headers: [] }
  const bytes = encode([record], { codec: 'none', transactional: true }, codec, crc32c)
  bytes.writeInt16BE(transactional | control, at.attributes)
  bytes.writeBigInt64BE(producerId, at.producerId)
  bytes.writeUInt32BE(crc32c(bytes.subarray(at.attributes)), at.crc)
  return bytes
}

/** A batch a flow made of nothing, outside every account; `releases` counts. */
export function loose(bytes: Buffer): Batch & { references: number } {
  const batch = {
    header: readHeader(bytes),
    bytes,
    tailCrc: null,
    references: 1,
    retain() {
      batch.references++
    },
    release() {
      if (batch.references === 0) throw new Error('a batch was released once too often')
      batch.references--
    },
  }
  return batch
}

export function valuesOf(kept: { header: Header; bytes: Buffer }): string[] {
  return records(kept, codec).map(record => String(record.value))
}
