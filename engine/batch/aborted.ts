import { control, type Header, headerBytes, nextOffset, transactional } from './header.ts'
import { VarintReader } from './varint.ts'

export type BatchVerdict = 'keep' | 'drop' | 'control'
type Seen = { header: Header; bytes: Buffer }

/**
 * Which batches of one answer belong to aborted transactions (M-33). A transactional batch is dropped if its producer
 * has an entry with firstOffset ≤ the batch's last offset that no ABORT marker of that producer has ended yet. The
 * list is for the range of its own answer: keeping its state over answers drops good or copies bad records.
 */
export function dropAborted(
  batches: readonly Seen[],
  aborted: readonly { producerId: bigint; firstOffset: bigint }[],
): BatchVerdict[] {
  const waiting = [...aborted].sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1))
  return batches.map(batch => {
    const { header } = batch
    const mine = waiting.findIndex(a => a.producerId === header.producerId && a.firstOffset < nextOffset(header))
    if (header.attributes & control) {
      if (mine >= 0 && isAbortMarker(batch)) waiting.splice(mine, 1)
      return 'control'
    }
    return mine >= 0 && header.attributes & transactional ? 'drop' : 'keep'
  })
}

/** Key of a control record: int16 version, int16 type, 0 = abort, 1 = commit. Control batches are never compressed. */
function isAbortMarker(batch: Seen): boolean {
  if (batch.header.recordsCount < 1) return false
  const r = new VarintReader(batch.bytes, headerBytes)
  r.int()
  r.at++
  r.long()
  r.int()
  const key = r.sized()
  return key !== null && key.length >= 4 && key.readInt16BE(2) === 0
}
