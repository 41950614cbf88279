import { constants, gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { crc32c as nativeCrc32c } from '@node-rs/crc32'
import { compressFrameSync, decompressFrameSync } from 'lz4-napi'
import snappy from 'snappy'
import type { Codec } from '../../batch/codec.ts'
import type { Crc } from '../../batch/crc.ts'
import type { CodecName } from '../../batch/header.ts'

/** CRC-32C and the codecs are native; pure code gets them as arguments. */
export const crc32c: Crc = bytes => nativeCrc32c(bytes as Buffer) >>> 0

const xerialMagic = Buffer.from('82534e4150505900', 'hex')
const xerialHeaderBytes = 16
const xerialBlockBytes = 32 * 1024

/** W-14: lz4 is the frame format, snappy is written by Java in xerial framing. */
export const codec: Codec = {
  compress(name: CodecName, bytes: Buffer): Buffer {
    switch (name) {
      case 'none':
        return bytes
      case 'gzip':
        return gzipSync(bytes)
      case 'snappy':
        return xerial(bytes)
      case 'lz4':
        return compressFrameSync(bytes)
      case 'zstd':
        return zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 3 } })
    }
  },

  decompress(name: CodecName, bytes: Buffer): Buffer {
    switch (name) {
      case 'none':
        return bytes
      case 'gzip':
        return gunzipSync(bytes)
      case 'snappy':
        return bytes.subarray(0, xerialMagic.length).equals(xerialMagic) ? fromXerial(bytes) : unsnap(bytes)
      case 'lz4':
        return decompressFrameSync(bytes)
      case 'zstd':
        return zstdDecompressSync(bytes)
    }
  },
}

function xerial(bytes: Buffer): Buffer {
  const head = Buffer.alloc(xerialHeaderBytes)
  xerialMagic.copy(head)
  head.writeInt32BE(1, 8)
  head.writeInt32BE(1, 12)
  const parts: Buffer[] = [head]
  for (let from = 0; from < bytes.length; from += xerialBlockBytes) {
    const block = snappy.compressSync(bytes.subarray(from, from + xerialBlockBytes))
    const length = Buffer.alloc(4)
    length.writeInt32BE(block.length)
    parts.push(length, block)
  }
  return Buffer.concat(parts)
}

/** Brokers take a bare block too, so a reader must know both. */
function fromXerial(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let from = xerialHeaderBytes; from + 4 <= bytes.length; ) {
    const length = bytes.readInt32BE(from)
    parts.push(unsnap(bytes.subarray(from + 4, from + 4 + length)))
    from += 4 + length
  }
  return Buffer.concat(parts)
}

function unsnap(block: Buffer): Buffer {
  return snappy.uncompressSync(block) as Buffer
}
