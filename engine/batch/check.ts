import { onePassBytesMin } from '../limits.ts'
import { type Crc, combine } from './crc.ts'
import { at, type Header } from './header.ts'

/** `tailCrc`: CRC of byte 57 to the end, when one pass gave both (W-15); `rewrite` uses it again. */
export type Checked = { ok: boolean; computed: number; tailCrc: number | null }

/**
 * Is the batch what its producer wrote? Done on every whole batch before anybody sees it: a CRC made over damaged
 * bytes would bless them (W-15, M-32). `bytes` is the whole batch.
 */
export function check(bytes: Buffer, header: Header, crc: Crc): Checked {
  if (bytes.length < onePassBytesMin) {
    const computed = crc(bytes.subarray(at.attributes))
    return { ok: computed === header.crc, computed, tailCrc: null }
  }
  const tailCrc = crc(bytes.subarray(at.recordsCount))
  const computed = crcFrom(bytes, tailCrc, crc)
  return { ok: computed === header.crc, computed, tailCrc }
}

/** The batch's CRC from the one of its tail and a pass over the 36 bytes before it. */
export function crcFrom(bytes: Buffer, tailCrc: number, crc: Crc): number {
  const head = crc(bytes.subarray(at.attributes, at.recordsCount))
  return combine(head, tailCrc, bytes.length - at.recordsCount)
}
