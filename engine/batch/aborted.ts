import { control, type Header, headerBytes, nextOffset, transactional } from './header.ts'
import { VarintReader } from './varint.ts'

export type BatchVerdict = 'keep' | 'drop' | 'control'
type Seen = { header: Header; bytes: Buffer }

/**
 * Which batches of one answer belong to aborted transactions (M-33). A transactional batch is dropped if its producer
 * has an entry with firstOffset ≤ the batch's last offset that no ABORT marker of that producer has ended yet; a marker
 * ends all that have begun before it. The list is for the range of its own answer: keeping its state over answers drops
 * good or copies bad records. Throws RangeError at a control batch that cannot be read.
 */
export function dropAborted(
  batches: readonly Seen[],
  aborted: readonly { producerId: bigint; firstOffset: bigint }[],
): BatchVerdict[] {
  const later = aborted.toSorted((a, b) => (a.firstOffset < b.firstOffset ? 1 : -1))
  const open = new Set<bigint>()
  return batches.map(batch => {
    const { header } = batch
    for (let next = later.at(-1); next && next.firstOffset < nextOffset(header); next = later.at(-1)) {
      open.add(next.producerId)
      later.pop()
    }
    if (header.attributes & control) {
      if (open.has(header.producerId) && isAbortMarker(batch)) open.delete(header.producerId)
      return 'control'
    }
    return header.attributes & transactional && open.has(header.producerId) ? 'drop' : 'keep'
  })
}

/** Key of a control record: int16 version, int16 type, 0 = abort, 1 = commit. Control batches are never compressed. */
function isAbortMarker(batch: Seen): boolean {
  if (batch.header.recordsCount < 1) return false
  const r = new VarintReader(batch.bytes, headerBytes)
  r.int()
  r.skip(1)
  r.long()
  r.int()
  const key = r.sized()
  return key !== null && key.length >= 4 && key.readInt16BE(2) === 0
}
