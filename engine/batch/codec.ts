import type { CodecName } from './header.ts'

/** Compression of the records section; native, handed in. `none` gives the same bytes back. */
export type Codec = {
  compress(codec: CodecName, bytes: Buffer): Buffer
  decompress(codec: CodecName, bytes: Buffer): Buffer
}
