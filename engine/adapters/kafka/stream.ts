import { readHeader } from '../../batch/header.ts'
import { windowBytesMax } from '../../limits.ts'
import type { Answer, Batch, Part, Position, Stream, TopicId, Trouble } from '../../ports/kafka.ts'
import { FetchedBatch } from './fetchedBatch.ts'
import type { MemoryAccount } from './slab.ts'

type Waiter = {
  resolve: (answer: Answer) => void
  reject: (reason: unknown) => void
  signal: AbortSignal
  off: () => void
}

type Seen = { logStart: bigint; lastStable: bigint; end: bigint; tail: boolean }

function isSeen(now: Omit<Seen, 'tail'>, tail: boolean, last: Seen): boolean {
  const isSame = now.logStart === last.logStart && now.lastStable === last.lastStable && now.end === last.end
  return isSame && tail === last.tail
}

/** What a stream needs of the source it belongs to. */
export type StreamHome = {
  account: MemoryAccount
  /** The stream may be fetched again: its window opened, it was moved, its back-off is over. */
  wake(stream: SourceStream): void
  /** Trouble of the link or the metadata that this stream depends on. */
  trouble(stream: SourceStream): Trouble | null
  closed(stream: SourceStream): void
}

/** One partition being read (KAFKA-CLIENT W-71). The fetcher moves `position` and delivers; the flow asks. */
export class SourceStream implements Stream {
  readonly part: Part
  readonly topicId: TopicId
  position: Position
  /** Raised by each move of the position that is not the fetcher's: an answer asked before it is not ours. */
  generation = 0
  standing = false
  corruptTries = 0
  notBeforeMs = 0
  ownTrouble: Trouble | null = null
  /** The broker whose fetcher reads this stream at present; `seat` tells the fetchers of a broker apart. */
  broker: number | null = null
  readonly seat: number
  #full = false
  #windowBytes = 0
  #closed = false
  /** What the last answer said of the log. */
  #seen: Seen | null = null
  readonly #answers: Answer[] = []
  #waiter: Waiter | null = null
  readonly #home: StreamHome

  constructor(part: Part & { topicId: TopicId }, position: Position, seat: number, home: StreamHome) {
    this.part = { topic: part.topic, partition: part.partition }
    this.topicId = part.topicId
    this.position = position
    this.seat = seat
    this.#home = home
  }

  get closed(): boolean {
    return this.#closed
  }

  get full(): boolean {
    return this.#full
  }

  next(signal: AbortSignal): Promise<Answer> {
    if (signal.aborted) return Promise.reject(signal.reason)
    const answer = this.#answers.shift()
    if (answer) return Promise.resolve(answer)
    return new Promise((resolve, reject) => {
      const stopped = () => {
        this.#waiter = null
        reject(signal.reason)
      }
      signal.addEventListener('abort', stopped, { once: true })
      this.#waiter = { resolve, reject, signal, off: () => signal.removeEventListener('abort', stopped) }
    })
  }

  made(bytes: Buffer): Batch {
    const lease = this.#home.account.count(bytes)
    return this.#counted({ header: readHeader(bytes), bytes, tailCrc: null }, lease)
  }

  seek(at: Position): void {
    this.generation++
    this.position = at
    this.standing = false
    this.corruptTries = 0
    this.#seen = null
    this.#drop()
    this.#home.wake(this)
  }

  trouble(): Trouble | null {
    return this.ownTrouble ?? this.#home.trouble(this)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.generation++
    this.#drop()
    this.#home.closed(this)
  }

  /** A batch of a frame; takes one reference of the frame's buffer over. */
  batch(
    view: { header: FetchedBatch['header']; bytes: Buffer; tailCrc: number | null },
    lease: { bytes: Buffer; slab: boolean; retain(): void; release(): void },
  ): FetchedBatch {
    return this.#counted(view, lease)
  }

  /** A batch of this stream was released: its bytes leave the window. */
  released(bytes: number): void {
    this.#windowBytes -= bytes
    if (!this.#full || this.#windowBytes >= windowBytesMax / 2) return
    this.#full = false
    if (!this.#closed) this.#home.wake(this)
  }

  /** Gives an answer to the flow; one without batches only when it says something new, or something bad. */
  deliver(answer: Answer): void {
    if (answer.is === 'batches') {
      // An empty answer below the end is news, once: compaction has left nothing between here and there (M-34).
      const end = answer.lastStable < 0n ? answer.end : answer.lastStable
      const tail = answer.batches.length === 0 && this.position.offset < end
      if (answer.batches.length === 0 && this.#seen !== null && isSeen(answer, tail, this.#seen)) return
      this.#seen = { logStart: answer.logStart, lastStable: answer.lastStable, end: answer.end, tail }
    } else this.standing = true
    const waiter = this.#waiter
    if (!waiter) {
      const last = this.#answers.at(-1)
      if (last?.is === 'batches' && last.batches.length === 0) this.#answers.pop()
      this.#answers.push(answer)
      return
    }
    this.#waiter = null
    waiter.off()
    waiter.resolve(answer)
  }

  #counted(
    view: { header: FetchedBatch['header']; bytes: Buffer; tailCrc: number | null },
    lease: Parameters<SourceStream['batch']>[1],
  ): FetchedBatch {
    const bytes = view.header.bytes
    this.#windowBytes += bytes
    if (this.#windowBytes > windowBytesMax) this.#full = true
    return new FetchedBatch(view, lease, this)
  }

  #drop(): void {
    for (const answer of this.#answers.splice(0)) {
      if (answer.is === 'batches') for (const batch of answer.batches) batch.release()
    }
  }
}
