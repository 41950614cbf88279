import { type Header, headerBytes, readHeader } from './header.ts'

export type Walked = { header: Header; bytes: Buffer }

/**
 * The whole batches in the records of one partition of a Fetch answer, as views. A cut last batch is left out: that
 * is normal, brokers fill up to the byte limit (W-14). `broken`: a length that cannot be; nothing after it is read.
 * A batch older than magic 2 has another header behind byte 16; its `magic`, `baseOffset` and `bytes` are right.
 */
export function walk(records: Buffer): { batches: Walked[]; broken: boolean } {
  const batches: Walked[] = []
  for (let from = 0; from + headerBytes <= records.length; ) {
    const header = readHeader(records, from)
    if (header.bytes < (header.magic >= 2 ? headerBytes : 1)) return { batches, broken: true }
    const to = from + header.bytes
    if (to > records.length) break
    batches.push({ header, bytes: records.subarray(from, to) })
    from = to
  }
  return { batches, broken: false }
}
