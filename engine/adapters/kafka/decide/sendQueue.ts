import { nextSequence } from '../../../batch/sequence.ts'

/**
 * One batch on its way to a partition.
 * `queued` → `sent` → `done`, or → `failed` → (when no request of the partition is open) `queued` again, or `refused`.
 */
export type SendEntry = {
  state: 'queued' | 'sent' | 'failed' | 'done' | 'refused'
  count: number
  bytes: number
  /** Given at the first write and kept through all retries (W-50), but W-73 and W-52. */
  sequence: number | null
  /** Ever written: it may be in the log, so it is never taken back and its sequence never given to another. */
  written: boolean
  /** Answers 45 it got as the first one that failed (W-52). */
  outOfOrder: number
}

/** The batches of one partition in order. Everything before `cursor` has been written in this round. */
export type SendQueue<E extends SendEntry> = {
  entries: E[]
  cursor: number
  inFlight: number
  nextSequence: number
  /**
   * The broker has acknowledged a batch of this producer lately. Until then one batch goes alone: a broker that knows
   * nothing of a producer takes any first sequence, so a second batch that overtakes a failed first one would be
   * taken, out of order.
   */
  proven: boolean
  recovering: boolean
}

export function sendQueue<E extends SendEntry>(): SendQueue<E> {
  return { entries: [], cursor: 0, inFlight: 0, nextSequence: 0, proven: false, recovering: false }
}

/** The next batch to write, or null (W-51): after a failure nothing new until the open requests have ended. */
export function nextToSend<E extends SendEntry>(queue: SendQueue<E>): E | null {
  if (queue.recovering) {
    if (queue.inFlight > 0) return null
    recover(queue)
  }
  if (queue.entries[0]?.state === 'refused') return null
  if (!queue.proven && queue.inFlight > 0) return null
  while (queue.entries[queue.cursor]?.state === 'done') queue.cursor++
  return queue.entries[queue.cursor] ?? null
}

export function wrote<E extends SendEntry>(queue: SendQueue<E>, entry: E): void {
  if (entry.sequence === null) {
    entry.sequence = queue.nextSequence
    queue.nextSequence = nextSequence(queue.nextSequence, entry.count)
  }
  entry.state = 'sent'
  entry.written = true
  queue.cursor++
  queue.inFlight++
}

export type Answered = 'acked' | 'refused' | 'again' | 'out-of-order' | 'reset'

/** Takes an answer in. True: the partition needs a new producer id (W-52). */
export function answered<E extends SendEntry>(queue: SendQueue<E>, entry: E, answer: Answered): boolean {
  queue.inFlight--
  if (answer === 'acked') {
    entry.state = 'done'
    entry.outOfOrder = 0
    queue.proven = true
    return false
  }
  const first = !queue.entries.some(e => e.state === 'failed' || e.state === 'refused')
  entry.state = answer === 'refused' && first ? 'refused' : 'failed'
  queue.recovering = true
  if (answer === 'reset') return first
  if (answer !== 'out-of-order' || !first) return false
  // The oldest unanswered one is at fault only when nothing before it is still under way.
  entry.outOfOrder++
  return entry.outOfOrder > 1
}

/** Takes the acknowledged batches off the head, in the order of `send`. */
export function settled<E extends SendEntry>(queue: SendQueue<E>): E[] {
  let n = 0
  while (queue.entries[n]?.state === 'done') n++
  if (n === 0) return []
  queue.cursor = Math.max(0, queue.cursor - n)
  return queue.entries.splice(0, n)
}

/** The refused batch that the flow must decide on now (W-73): nothing before it, nothing under way behind it. */
export function refusedNow<E extends SendEntry>(queue: SendQueue<E>): E | null {
  const head = queue.entries[0]
  return head?.state === 'refused' && queue.inFlight === 0 ? head : null
}

/** `pieces` take the refused head's place; sequences go on without a hole, for none of those behind it was taken. */
export function instead<E extends SendEntry>(queue: SendQueue<E>, pieces: E[]): E | null {
  const refused = queue.entries[0]
  if (refused?.state !== 'refused') return null
  queue.entries.splice(0, 1, ...pieces)
  queue.nextSequence = refused.sequence ?? queue.nextSequence
  startOver(queue)
  return refused
}

/** W-52: a new producer, sequences from 0; what was in doubt may be doubled. */
export function renumbered<E extends SendEntry>(queue: SendQueue<E>): void {
  queue.nextSequence = 0
  queue.proven = false
  startOver(queue)
}

/** Takes back every batch never written, but the oldest unanswered one (W-72). */
export function recalled<E extends SendEntry>(queue: SendQueue<E>, mine: (entry: E) => boolean): E[] {
  const oldest = queue.entries.findIndex(e => mine(e) && e.state !== 'done')
  const taken = queue.entries.filter((e, i) => i !== oldest && i >= queue.cursor && !e.written && mine(e))
  if (taken.length > 0) queue.entries = queue.entries.filter(e => !taken.includes(e))
  return taken
}

function startOver<E extends SendEntry>(queue: SendQueue<E>): void {
  for (const entry of queue.entries) {
    if (entry.state === 'done') continue
    entry.sequence = null
    entry.state = 'queued'
    entry.outOfOrder = 0
  }
  queue.cursor = 0
  queue.recovering = false
}

/** From the first failed one, in order, pipelined; those acknowledged behind it stay done. */
function recover<E extends SendEntry>(queue: SendQueue<E>): void {
  queue.recovering = false
  const first = queue.entries.findIndex(e => e.state === 'failed')
  if (first < 0) return
  for (const entry of queue.entries) if (entry.state === 'failed') entry.state = 'queued'
  queue.cursor = Math.min(queue.cursor, first)
}
