import { nextToSend, type SendEntry, type SendQueue } from './sendQueue.ts'

export type Sendable<E extends SendEntry> = {
  queue: SendQueue<E>
  /** In back-off, or without a producer id. */
  held: boolean
  /** The lease of the batch's lane, asked in the turn of the write (W-70). */
  mayWrite(entry: E): boolean
}

/**
 * The batches of the next request, or null: at most one of each partition (two ⇒ error 87), in one pass over the
 * queues, no linger, at most `bytesMax`; a larger one goes alone (W-50).
 */
export function planSend<E extends SendEntry, P extends Sendable<E>>(
  partitions: Iterable<P>,
  how: { open: number; openMax: number; bytesMax: number },
): { partition: P; entry: E }[] | null {
  if (how.open >= how.openMax) return null
  const picks: { partition: P; entry: E }[] = []
  let bytes = 0
  for (const partition of partitions) {
    if (partition.held) continue
    const entry = nextToSend(partition.queue)
    if (!entry) continue
    if (picks.length > 0 && bytes + entry.bytes > how.bytesMax) continue
    if (!partition.mayWrite(entry)) continue
    picks.push({ partition, entry })
    bytes += entry.bytes
    if (bytes >= how.bytesMax) break
  }
  return picks.length > 0 ? picks : null
}
