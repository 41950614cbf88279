import { coordinationFrameBytesMax } from '../../limits.ts'

/** Gives whole frames, each with the four bytes of its length, out of what comes in pieces. */
export type FrameReader = {
  /** Throws RangeError when a length cannot be one. */
  push(bytes: Buffer): Buffer[]
  /** What was begun on a connection that ended is no part of the next one's (C-76). */
  reset(): void
}

const lengthBytes = 4

export function frameReader(): FrameReader {
  let begun: Buffer | null = null
  return {
    push(bytes) {
      let rest = begun ? Buffer.concat([begun, bytes]) : bytes
      const frames: Buffer[] = []
      while (rest.length >= lengthBytes) {
        const length = rest.readInt32BE(0)
        if (length < 0 || length > coordinationFrameBytesMax) throw new RangeError(`a frame of ${length} bytes`)
        if (rest.length < lengthBytes + length) break
        frames.push(rest.subarray(0, lengthBytes + length))
        rest = rest.subarray(lengthBytes + length)
      }
      begun = rest.length > 0 ? rest : null
      return frames
    },
    reset() {
      begun = null
    },
  }
}
