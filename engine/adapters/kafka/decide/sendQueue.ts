import { nextSequence } from '../../../batch/sequence.ts'
import { producerBatchesKnownMax } from '../../../limits.ts'

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
  /** Ever written: it may be in the log, so it is never taken back. */
  written: boolean
  /** A try of it ended without a sure answer: the log may hold it, or get it yet, under this producer's sequence. */
  inDoubt: boolean
  /** A try of it ended without the word that it was not taken: narrower than `inDoubt`, for a stop that need not wait. */
  maybeTaken: boolean
  /** Answers 45 it got as the first one that failed (W-52). */
  outOfOrder: number
}

/** The batches of one partition in the order of `send`; those written and not yet settled are the first five. */
export type SendQueue<E extends SendEntry> = {
  entries: E[]
  nextSequence: number
  /**
   * The broker has acknowledged a batch of this producer, and nothing failed since. Until then one batch goes alone: a
   * broker that knows nothing of a producer takes any first sequence, so a second batch that overtakes a failed first
   * one would be taken, out of order.
   */
  proven: boolean
}

export function sendQueue<E extends SendEntry>(): SendQueue<E> {
  return { entries: [], nextSequence: 0, proven: false }
}

/** How many batches are in open requests. */
export function inFlight(queue: SendQueue<SendEntry>): number {
  return writable(queue).filter(entry => entry.state === 'sent').length
}

/**
 * The next batch to write, or null. After a failure nothing new until the open requests have ended (W-51). Never more
 * than five from the oldest unanswered one on: a broker knows a producer's last five batches, and a repeat of an older
 * one would look like a gap.
 */
export function nextToSend<E extends SendEntry>(queue: SendQueue<E>): E | null {
  const first = writable(queue)
  if (first.some(entry => entry.state === 'failed' || entry.state === 'refused')) return null
  if (!queue.proven && first.some(entry => entry.state === 'sent')) return null
  return first.find(entry => entry.state === 'queued') ?? null
}

export function wrote<E extends SendEntry>(queue: SendQueue<E>, entry: E): void {
  if (entry.sequence === null) {
    entry.sequence = queue.nextSequence
    queue.nextSequence = nextSequence(queue.nextSequence, entry.count)
  }
  entry.state = 'sent'
  entry.written = true
}

/**
 * `again`: whether it was taken is not known. `not-taken`: it was not, and is sent again. `out-of-order`: 45. `reset`:
 * the broker does not know the producer.
 */
export type Answered = 'acked' | 'refused' | 'again' | 'not-taken' | 'out-of-order' | 'reset'

/** Is everything before it acknowledged? Else its failure is only the consequence of another's. */
export function leads<E extends SendEntry>(queue: SendQueue<E>, entry: E): boolean {
  return queue.entries.find(one => one.state !== 'done') === entry
}

/** Takes an answer in. True: the partition needs a new producer id, and `renumbered` when nothing is under way (W-52). */
export function answered<E extends SendEntry>(queue: SendQueue<E>, entry: E, answer: Answered): boolean {
  const first = leads(queue, entry)
  const renew = answer !== 'acked' && failed(entry, answer, first)
  if (answer === 'acked') entry.state = 'done'
  queue.proven = answer === 'acked'
  // Those acknowledged behind a failed one stay done; from it on all others are written again, in order.
  if (inFlight(queue) === 0) for (const one of writable(queue)) if (one.state === 'failed') one.state = 'queued'
  return renew
}

function failed(entry: SendEntry, answer: Exclude<Answered, 'acked'>, first: boolean): boolean {
  entry.state = answer === 'refused' && first ? 'refused' : 'failed'
  if (answer === 'again' || answer === 'not-taken') entry.inDoubt = true
  if (answer !== 'not-taken' && answer !== 'refused') entry.maybeTaken = true
  if (!first) return false
  if (answer === 'out-of-order') entry.outOfOrder++
  return answer === 'reset' || entry.outOfOrder > 1
}

/** Takes the acknowledged batches off the head, in the order of `send`. */
export function settled<E extends SendEntry>(queue: SendQueue<E>): E[] {
  const open = queue.entries.findIndex(entry => entry.state !== 'done')
  return open === 0 ? [] : queue.entries.splice(0, open < 0 ? queue.entries.length : open)
}

/**
 * Whether one of them may be in the log, or get there yet, and its lane does not know: under way, acknowledged behind
 * one that is not, or without a sure answer.
 */
export function mayBeTaken<E extends SendEntry>(queue: SendQueue<E>, mine: (entry: E) => boolean): boolean {
  return queue.entries.some(one => mine(one) && (one.state === 'sent' || one.state === 'done' || one.maybeTaken))
}

/** The refused batch that the flow must decide on now (W-73): nothing before it, nothing under way behind it. */
export function refusedNow<E extends SendEntry>(queue: SendQueue<E>): E | null {
  const head = queue.entries[0]
  return head?.state === 'refused' && inFlight(queue) === 0 ? head : null
}

/** Refuses the head without asking the broker (W-45); null: nothing waits, it stands refused, or requests are open. */
export function refuseHead<E extends SendEntry>(queue: SendQueue<E>): E | null {
  const head = queue.entries[0]
  if (head?.state !== 'queued' || inFlight(queue) > 0) return null
  head.state = 'refused'
  queue.proven = false
  return head
}

/**
 * `pieces` take the refused head's place (W-73). Sequences go on without a hole where it is sure that the broker took
 * none from the refused one on. Else `renew`: a new producer id is needed, for the sequence of a batch that may be in
 * the log, given to another one, would have that other acknowledged as a repeat and lost.
 */
export function instead<E extends SendEntry>(queue: SendQueue<E>, pieces: E[]): { refused: E; renew: boolean } | null {
  const refused = refusedNow(queue)
  if (!refused) return null
  const renew = queue.entries.some(entry => entry.inDoubt || entry.state === 'done')
  queue.entries.splice(0, 1, ...pieces)
  if (refused.sequence !== null) startOver(queue, refused.sequence)
  return { refused, renew }
}

/** W-52: a new producer, sequences from 0; what was in doubt may be doubled. Only when nothing is under way. */
export function renumbered<E extends SendEntry>(queue: SendQueue<E>): void {
  for (const entry of queue.entries) entry.inDoubt = false
  queue.proven = false
  startOver(queue, 0)
}

/**
 * Takes back every batch never written, but the oldest unanswered one (W-72), and none that another of the same lane
 * stands behind (pieces of a refused batch): the flow reads again from the first that it got back.
 */
export function recalled<E extends SendEntry>(queue: SendQueue<E>, mine: (entry: E) => boolean): E[] {
  const own = queue.entries.filter(mine)
  const oldest = own.findIndex(entry => entry.state !== 'done')
  if (oldest < 0) return []
  const lastWritten = own.findLastIndex(entry => entry.written)
  const taken = own.slice(1 + Math.max(oldest, lastWritten))
  if (taken.length > 0) queue.entries = queue.entries.filter(entry => !taken.includes(entry))
  return taken
}

function writable<E extends SendEntry>(queue: SendQueue<E>): E[] {
  return queue.entries.slice(0, producerBatchesKnownMax)
}

function startOver<E extends SendEntry>(queue: SendQueue<E>, sequence: number): void {
  queue.nextSequence = sequence
  for (const entry of queue.entries) {
    if (entry.state === 'done') continue
    entry.sequence = null
    entry.outOfOrder = 0
    // A refused one waits for its flow, which has been told.
    if (entry.state !== 'refused') entry.state = 'queued'
  }
}
