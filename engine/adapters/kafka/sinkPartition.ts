import {
  answerLateMs,
  backOffMs,
  linkBackOff,
  mayWriteAgainMs,
  producerProvenMs,
  unitBackOff,
  unknownErrorTriesMax,
} from '../../limits.ts'
import type { Batch, Lane, Outcome, Part, TopicId, Trouble } from '../../ports/kafka.ts'
import { classify, saysNotTaken, troubleCode, type Verdict } from './decide/classify.ts'
import {
  type Answered,
  answered,
  instead,
  leads,
  mayBeTaken,
  recalled,
  refusedNow,
  refuseHead,
  renumbered,
  type SendEntry,
  type SendQueue,
  sendQueue,
  settled,
} from './decide/sendQueue.ts'
import type { ProducedPartition } from './frames/produce.ts'

export type Identity = { producerId: bigint; producerEpoch: number }

/** A batch with what its lane must be told of it. */
export type Outgoing = SendEntry & {
  batch: Batch
  lane: SinkLane<unknown>
  tag: unknown
  baseOffset: bigint | null
  refusal: { code: number; message: string | null; batchIndex: number | null } | null
  writtenMs: number
  tries: number
}

/** What a partition needs of the sink it belongs to. */
export type SinkHome = {
  name: string
  nowMs(): number
  chance(): number
  /** Something may be sent, or the back-off of `ms` is over then. */
  wake(partition: SinkPartition, afterMs: number): void
  /** A new producer id is needed (W-52). */
  reset(partition: SinkPartition): void
  /** The cluster's last word on the topic was that it is there, the one that the partition has seen. */
  knows(partition: SinkPartition): boolean
  leaderMoved(partition: SinkPartition, produced: ProducedPartition | null): void
  missing(partition: SinkPartition): void
  /** Trouble of the link, the metadata or the producer id that this partition depends on. */
  trouble(partition: SinkPartition): Trouble | null
  resetLink(partition: SinkPartition): void
  closed(partition: SinkPartition): void
}

/** One partition being written: its queue, its lanes, its producer (KAFKA-CLIENT W-50 to W-52, W-72, W-73). */
export class SinkPartition {
  readonly part: Part
  queue: SendQueue<Outgoing> = sendQueue()
  identity: Identity | null = null
  /** The producer that has written here: its sequences must go on, so it is never taken a second time from 0. */
  usedProducerId: bigint | null = null
  /** The topic as the cluster has it; null = not known. Whose lanes mean another one is theirs to say (W-45). */
  topicId: TopicId | null = null
  broker: number | null = null
  notBeforeMs = 0
  /** Since when the cluster says that the topic is not there. */
  missingSinceMs: number | null = null
  readonly lanes = new Set<SinkLane<unknown>>()
  #provenMs = 0
  #link: object | null = null
  /** When the first batch was written that no broker has answered since, over all links that were lost meanwhile. */
  #unansweredMs: number | null = null
  #ownTrouble: Trouble | null = null
  readonly #home: SinkHome

  constructor(part: Part, home: SinkHome) {
    this.part = part
    this.#home = home
  }

  /** Not to be sent now: no producer yet, or in back-off. */
  get held(): boolean {
    if (this.identity === null || this.topicId === null || this.notBeforeMs > this.#home.nowMs()) return true
    // Where it goes by name the batch would land in a topic made anew under that name (W-45).
    if (!this.#home.knows(this)) return true
    if (this.queue.proven && this.#home.nowMs() - this.#provenMs > producerProvenMs) this.queue.proven = false
    return false
  }

  /** A broker on another link may be another one, or have lost what it knew: it proves anew that it knows our producer. */
  over(link: object): void {
    if (this.#link !== link) this.queue.proven = false
    this.#link = link
  }

  /** The lease, asked in the turn of the write (W-70). */
  mayWrite(entry: Outgoing): boolean {
    // Meant for another topic of that name: it is refused when it is the first, after all that is under way (W-45).
    if (!sameTopic(entry.lane.topicId, this.topicId)) return false
    if (entry.lane.mayWrite()) return true
    this.#home.wake(this, mayWriteAgainMs)
    return false
  }

  enqueue(lane: SinkLane<unknown>, batch: Batch, tag: unknown): void {
    this.queue.entries.push(outgoing(lane, batch, tag))
    this.#home.wake(this, 0)
  }

  /** One partition's part of a Produce response. */
  produced(queue: SendQueue<Outgoing>, entry: Outgoing, produced: ProducedPartition): void {
    // A queue that was given up (its lane closed with batches under way) is nobody's: only the memory comes back.
    if (queue !== this.queue) return entry.batch.release()
    const verdict = classify('produce', produced.error)
    this.#unansweredMs = null
    if (verdict === 'ok' || verdict === 'duplicate') {
      entry.baseOffset = verdict === 'ok' ? produced.baseOffset : null
      this.#provenMs = this.#home.nowMs()
      if (leads(this.queue, entry)) this.#ownTrouble = null
      this.#took(entry, 'acked')
    } else this.#failed(entry, produced, verdict)
    this.report()
  }

  /**
   * The topic as the cluster has it now, while no request is open. False: what waits first was meant for another one
   * of that name, and is refused (W-45).
   */
  seen(topicId: TopicId): boolean {
    // A broker that has never heard of our producer takes any first sequence: one batch goes alone.
    if (this.topicId !== topicId) this.queue.proven = false
    this.topicId = topicId
    for (const lane of this.lanes) lane.topicId ||= topicId
    const meant = this.queue.entries[0]?.lane.topicId ?? ''
    if (sameTopic(meant, topicId)) return true
    const head = refuseHead(this.queue)
    if (head) {
      const message = `the topic of this name has the id ${topicId}, not ${meant}`
      head.refusal = { code: 100, message, batchIndex: null }
      this.report()
    }
    return false
  }

  /** The link was lost: whether the batch was taken is not known; the same sequence tells the broker (W-51). */
  lost(queue: SendQueue<Outgoing>, entry: Outgoing): void {
    if (queue !== this.queue) return entry.batch.release()
    this.#unansweredMs ??= entry.writtenMs
    this.#took(entry, 'again')
    this.report()
  }

  /** A new producer id came (W-52). */
  renumber(identity: Identity): void {
    this.identity = identity
    this.usedProducerId = identity.producerId
    renumbered(this.queue)
    this.#home.wake(this, 0)
  }

  instead(pieces: [Batch, unknown][], lane: SinkLane<unknown>): void {
    const made = pieces.map(([batch, tag]) => outgoing(lane, batch, tag))
    const done = refusedNow(this.queue)?.lane === lane ? instead(this.queue, made) : null
    if (!done) throw new Error('no batch of this lane stands refused')
    for (const [batch] of pieces) batch.retain()
    done.refused.batch.release()
    if (done.renew) this.#renew()
    this.report()
  }

  recall(lane: SinkLane<unknown>): unknown[] {
    const taken = recalled(this.queue, entry => entry.lane === lane)
    for (const entry of taken) entry.batch.release()
    return taken.map(entry => entry.tag)
  }

  inDoubt(lane: SinkLane<unknown>): boolean {
    return mayBeTaken(this.queue, entry => entry.lane === lane)
  }

  idleOf(lane: SinkLane<unknown>): boolean {
    return !this.queue.entries.some(entry => entry.lane === lane)
  }

  trouble(): Trouble | null {
    if (this.#ownTrouble) return this.#ownTrouble
    if (this.queue.entries.length === 0) return null
    const lostMs = this.#unansweredMs
    const fault = this.#home.trouble(this)
    // A new link that is silent too is the same trouble: it ends with an answer (W-76).
    if (fault) return lostMs === null ? fault : { ...fault, sinceMs: Math.min(fault.sinceMs, lostMs) }
    const sinceMs = lostMs ?? this.queue.entries.find(entry => entry.state === 'sent')?.writtenMs
    const now = this.#home.nowMs()
    if (sinceMs === undefined || (lostMs === null && now - sinceMs < answerLateMs)) return null
    return this.#troubleNow('kafka-unreachable', null, 'the broker does not answer', sinceMs, now)
  }

  /** Takes a lane away. What is under way may still be written: later batches get a new producer, never its sequence. */
  leave(lane: SinkLane<unknown>, hard: boolean): void {
    this.lanes.delete(lane)
    const mine = this.queue.entries.filter(entry => entry.lane === lane)
    const underWay = mine.some(entry => entry.written)
    if (hard && mine.some(entry => entry.state === 'sent')) this.#home.resetLink(this)
    for (const entry of mine) if (entry.state !== 'sent') entry.batch.release()
    const others = this.queue.entries.filter(entry => entry.lane !== lane)
    if (underWay) {
      // What other lanes have under way is sent again by the new producer; its old answer only gives a reference back.
      for (const entry of others) if (entry.state === 'sent') entry.batch.retain()
      this.queue = { ...sendQueue<Outgoing>(), entries: others.map(entry => ({ ...entry })) }
      renumbered(this.queue)
      this.identity = null
    } else this.queue.entries = others
    // Another lane's batches may now be the first: acknowledged ones are told, the others want a producer.
    if (this.lanes.size > 0) return this.report()
    this.queue.proven = false
    this.topicId = null
    this.#unansweredMs = null
    this.#ownTrouble = null
    this.#home.closed(this)
  }

  /** Tells the lanes what is decided, in the order of `send`. */
  report(): void {
    for (const entry of settled(this.queue)) {
      entry.lane.tell({ is: 'acked', tag: entry.tag, baseOffset: entry.baseOffset })
      entry.batch.release()
    }
    const refused = refusedNow(this.queue)
    if (refused?.refusal) {
      const refusal = refused.refusal
      refused.refusal = null
      refused.lane.tell({ is: 'refused', tag: refused.tag, ...refusal })
    }
    for (const lane of this.lanes) lane.settledNow()
    this.#home.wake(this, 0)
  }

  #took(entry: Outgoing, answer: Answered): void {
    if (answered(this.queue, entry, answer)) this.#renew()
  }

  #renew(): void {
    this.identity = null
    this.#home.reset(this)
  }

  /** Back-off and trouble are the first failed one's; the failures behind it are its consequence. */
  #failed(entry: Outgoing, produced: ProducedPartition, verdict: Verdict): void {
    const answer = failureOf(entry, produced.error, verdict)
    if (answer === 'refused') entry.refusal = refusalOf(produced)
    else if (leads(this.queue, entry) && (answer !== 'out-of-order' || entry.outOfOrder > 0)) {
      this.#backOff(produced, verdict)
      if (verdict === 'leader') this.#home.leaderMoved(this, produced)
      if (verdict === 'missing') this.#home.missing(this)
    }
    this.#took(entry, answer)
  }

  #backOff(produced: ProducedPartition, verdict: Verdict): void {
    const now = this.#home.nowMs()
    const tries = (this.#ownTrouble?.tries ?? 0) + 1
    const slow = verdict === 'wait' || verdict === 'login'
    const wait = backOffMs(slow ? unitBackOff : linkBackOff, tries, () => this.#home.chance())
    this.notBeforeMs = now + wait
    const text = produced.message ?? `Kafka's error ${produced.error}`
    this.#ownTrouble = {
      ...this.#troubleNow(
        troubleCode(produced.error, 'destination'),
        produced.error,
        text,
        this.#ownTrouble?.sinceMs ?? now,
        now + wait,
      ),
      tries,
    }
    this.#home.wake(this, wait)
  }

  #troubleNow(code: string, kafka: number | null, text: string, sinceMs: number, nextTryMs: number): Trouble {
    const message = `${this.#home.name}: ${this.part.topic}/${this.part.partition}: ${text}`
    return { code, kafka, message, sinceMs, tries: 1, nextTryMs }
  }
}

/** The flow's end of a partition (W-72). */
export class SinkLane<T> implements Lane<T> {
  readonly mayWrite: () => boolean
  /** The topic that the flow means; `''` = the one first seen (W-45). */
  topicId: TopicId
  readonly #partition: SinkPartition
  readonly #onOutcome: (outcome: Outcome<T>) => void
  #closed = false
  #idle: (() => void)[] = []

  constructor(
    partition: SinkPartition,
    topicId: TopicId,
    mayWrite: () => boolean,
    onOutcome: (outcome: Outcome<T>) => void,
  ) {
    this.#partition = partition
    this.topicId = topicId || (partition.topicId ?? '')
    this.mayWrite = mayWrite
    this.#onOutcome = onOutcome
    partition.lanes.add(this as SinkLane<unknown>)
  }

  send(batch: Batch, tag: T): void {
    batch.retain()
    this.#partition.enqueue(this as SinkLane<unknown>, batch, tag)
  }

  instead(pieces: [Batch, T][]): void {
    this.#partition.instead(pieces, this as SinkLane<unknown>)
  }

  recall(): T[] {
    return this.#partition.recall(this as SinkLane<unknown>) as T[]
  }

  idle(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason)
    if (this.#partition.idleOf(this as SinkLane<unknown>)) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const stopped = () => reject(signal.reason)
      signal.addEventListener('abort', stopped, { once: true })
      this.#idle.push(() => {
        signal.removeEventListener('abort', stopped)
        resolve()
      })
    })
  }

  inDoubt(): boolean {
    return this.#partition.inDoubt(this as SinkLane<unknown>)
  }

  trouble(): Trouble | null {
    return this.#partition.trouble()
  }

  close(hard: boolean): void {
    if (this.#closed) return
    this.#closed = true
    this.#partition.leave(this as SinkLane<unknown>, hard)
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  tell(outcome: Outcome<T>): void {
    if (!this.#closed) this.#onOutcome(outcome)
  }

  settledNow(): void {
    if (this.#idle.length === 0 || !this.#partition.idleOf(this as SinkLane<unknown>)) return
    for (const resolve of this.#idle.splice(0)) resolve()
  }
}

/** Not known, or a topic older than ids, matches any (W-45). */
export function sameTopic(one: TopicId | null, other: TopicId | null): boolean {
  return !one || !other || one === other
}

type Refusal = NonNullable<Outgoing['refusal']>

function refusalOf(produced: ProducedPartition): Refusal {
  const { error: code, message, recordErrors } = produced
  return { code, message, batchIndex: recordErrors[0]?.batchIndex ?? null }
}

/** What the queue is told. A number nobody knows refuses the batch, but whether it was taken is not known either. */
function failureOf(entry: Outgoing, error: number, verdict: Verdict): Answered {
  if (verdict === 'refused') return 'refused'
  if (verdict === 'reset' || verdict === 'fenced') return error === 45 ? 'out-of-order' : 'reset'
  if (verdict !== 'unknown') return saysNotTaken(error) ? 'not-taken' : 'again'
  entry.inDoubt = true
  return error === -1 && ++entry.tries <= unknownErrorTriesMax ? 'again' : 'refused'
}

function outgoing(lane: SinkLane<unknown>, batch: Batch, tag: unknown): Outgoing {
  return {
    state: 'queued',
    count: batch.header.lastOffsetDelta + 1,
    bytes: batch.bytes.length,
    sequence: null,
    written: false,
    inDoubt: false,
    maybeTaken: false,
    outOfOrder: 0,
    batch,
    lane,
    tag,
    baseOffset: null,
    refusal: null,
    writtenMs: 0,
    tries: 0,
  }
}
