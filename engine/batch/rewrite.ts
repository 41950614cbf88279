import { crcFrom } from './check.ts'
import type { Crc } from './crc.ts'
import { at, deleteHorizon, logAppendTime, transactional } from './header.ts'

export type Producer = { producerId: bigint; producerEpoch: number; sequence: number; transactional: boolean }

/**
 * Makes a batch one of ours, in place (W-15, M-31): base offset 0 (the broker compares each record's offset with 0,
 * 1, 2 … and refuses another base with 87), leader epoch −1, our producer, append-time and delete-horizon bits
 * cleared (both would lie at the destination), a new CRC. Bytes 23–42 and 57–end stay as they were.
 */
export function rewrite(bytes: Buffer, producer: Producer, tailCrc: number | null, crc: Crc): void {
  bytes.writeBigInt64BE(0n, at.baseOffset)
  bytes.writeInt32BE(-1, at.partitionLeaderEpoch)
  const kept = bytes.readInt16BE(at.attributes) & ~(logAppendTime | transactional | deleteHorizon)
  bytes.writeInt16BE(producer.transactional ? kept | transactional : kept, at.attributes)
  bytes.writeBigInt64BE(producer.producerId, at.producerId)
  bytes.writeInt16BE(producer.producerEpoch, at.producerEpoch)
  bytes.writeInt32BE(producer.sequence, at.baseSequence)
  const sum = tailCrc === null ? crc(bytes.subarray(at.attributes)) : crcFrom(bytes, tailCrc, crc)
  bytes.writeUInt32BE(sum, at.crc)
}
