/** The header of a record batch, magic 2 (KAFKA-CLIENT W-14), and where its fields lie. */
export const at = {
  baseOffset: 0,
  batchLength: 8,
  partitionLeaderEpoch: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  recordsCount: 57,
  records: 61,
} as const

export const headerBytes = 61
/** Bytes before `batchLength` begins to count. */
export const lengthOverheadBytes = 12

export const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type CodecName = (typeof codecs)[number]

export const codecMask = 0x07
export const logAppendTime = 0x08
export const transactional = 0x10
export const control = 0x20
export const deleteHorizon = 0x40

export type Header = {
  baseOffset: bigint
  /** Whole length in bytes, with the 12 bytes before `batchLength` counts. */
  bytes: number
  partitionLeaderEpoch: number
  magic: number
  crc: number
  attributes: number
  lastOffsetDelta: number
  baseTimestamp: bigint
  maxTimestamp: bigint
  producerId: bigint
  producerEpoch: number
  baseSequence: number
  recordsCount: number
}

/** Reads the header at byte `from`; the caller has made sure that 61 bytes are there. */
export function readHeader(bytes: Buffer, from = 0): Header {
  return {
    baseOffset: bytes.readBigInt64BE(from + at.baseOffset),
    bytes: bytes.readInt32BE(from + at.batchLength) + lengthOverheadBytes,
    partitionLeaderEpoch: bytes.readInt32BE(from + at.partitionLeaderEpoch),
    magic: bytes.readInt8(from + at.magic),
    crc: bytes.readUInt32BE(from + at.crc),
    attributes: bytes.readInt16BE(from + at.attributes),
    lastOffsetDelta: bytes.readInt32BE(from + at.lastOffsetDelta),
    baseTimestamp: bytes.readBigInt64BE(from + at.baseTimestamp),
    maxTimestamp: bytes.readBigInt64BE(from + at.maxTimestamp),
    producerId: bytes.readBigInt64BE(from + at.producerId),
    producerEpoch: bytes.readInt16BE(from + at.producerEpoch),
    baseSequence: bytes.readInt32BE(from + at.baseSequence),
    recordsCount: bytes.readInt32BE(from + at.recordsCount),
  }
}

/** The offset after the last one of the batch, also of control and aborted ones (W-42, M-34). */
export function nextOffset(header: Header): bigint {
  return header.baseOffset + BigInt(header.lastOffsetDelta) + 1n
}

/** The codec's name; null for a number nobody knows. */
export function codecOf(attributes: number): CodecName | null {
  return codecs[attributes & codecMask] ?? null
}
