import { check } from '../../batch/check.ts'
import type { Crc } from '../../batch/crc.ts'
import { nextOffset } from '../../batch/header.ts'
import { type Walked, walk } from '../../batch/walk.ts'
import {
  answerLateMs,
  corruptTriesMax,
  fetchBytesMax,
  fetchBytesMin,
  fetchGraceMs,
  fetchPartitionBytesMax,
  fetchWaitFullMs,
  fetchWaitMaxMs,
} from '../../limits.ts'
import type { Position, TopicId } from '../../ports/kafka.ts'
import { type FetchPlace, planFetch } from './decide/planFetch.ts'
import type { FetchedBatch } from './fetchedBatch.ts'
import { type FetchAnswer, type FetchedPartition, type FetchQuestion, fetchApi } from './frames/fetch.ts'
import type { Link, Reply } from './link.ts'
import type { MemoryAccount } from './slab.ts'
import { SlabWatch } from './slabWatch.ts'
import type { LinkSlot, SlotFault } from './slot.ts'
import type { SourceStream } from './stream.ts'

const sizes = {
  bytesMax: fetchBytesMax,
  partitionBytesMax: fetchPartitionBytesMax,
  bytesMin: fetchBytesMin,
  waitMaxMs: fetchWaitMaxMs,
  fullWaitMs: fetchWaitFullMs,
}

/** What a fetcher needs of its source. */
export type FetcherHome = {
  isolation: 0 | 1
  rack: string
  account: MemoryAccount
  crc: Crc
  nowMs(): number
  after(ms: number, then: () => void): () => void
  /** Topic id and leader epoch to ask with, or null while they are not known. */
  facts(stream: SourceStream): { topicId: TopicId; leaderEpoch: number } | null
  /** Everything that is not records: errors, leader hints, diverging logs. */
  fault(stream: SourceStream, fetched: FetchedPartition, answer: FetchAnswer): void
  /** Kafka's error for the whole request. */
  wholeFault(streams: SourceStream[], error: number): void
  linkFault(fault: SlotFault): void
}

/** A stream as it was asked for: what came after a seek is not its answer. */
type Asked = { stream: SourceStream; generation: number }
/** By the topic as the answer will name it, and partition: thousands of idle ones are looked up twice a second. */
type AllAsked = Map<string, Map<number, Asked>>
/** `epoch`: of the batch before the first of `batches`. */
type Taken = Asked & { fetched: FetchedPartition; batches: Walked[]; broken: boolean; epoch: number }

const none = Buffer.alloc(0)

/**
 * Reads all partitions of one broker with one request open (KAFKA-CLIENT W-40). The next request is planned and sent
 * when a response is decoded, before its batches are checked and go on: broker and client work at the same time.
 */
export class Fetcher {
  readonly broker: number
  readonly #home: FetcherHome
  readonly #slot: LinkSlot
  readonly #streams: SourceStream[] = []
  readonly #byTopic = new Map<string, Map<number, SourceStream>>()
  readonly #stopRoom: () => void
  #busy = false
  #turn = 0
  #cancelTimer: (() => void) | null = null
  requests = 0
  /** The request that is open: over which link, and when its long poll is over. */
  #open: { link: Link; dueMs: number } | null = null
  /** The broker speaks only versions that name topics, not their ids. */
  byName = false
  readonly #slabs: SlabWatch

  constructor(
    broker: number,
    home: FetcherHome,
    slot: (how: { onReady: () => void; onFault: (f: SlotFault) => void }) => LinkSlot,
  ) {
    this.broker = broker
    this.#home = home
    this.#slot = slot({ onReady: () => this.pump(), onFault: fault => home.linkFault(fault) })
    this.#slabs = new SlabWatch(home)
    this.#stopRoom = home.account.whenRoom(() => this.pump())
  }

  get fault(): SlotFault | null {
    return this.#slot.fault
  }

  /**
   * Since when the broker owes an answer, long before the request's own time-out; null = it does not. While sockets
   * wait for memory it is not the broker who is late.
   */
  get lateSinceMs(): number | null {
    if (!this.#open || this.#home.account.waiting > 0) return null
    const sinceMs = Math.max(this.#open.dueMs, this.#open.link.lastReadMs)
    return this.#home.nowMs() - sinceMs < answerLateMs ? null : sinceMs
  }

  get empty(): boolean {
    return this.#streams.length === 0
  }

  get streams(): readonly SourceStream[] {
    return this.#streams
  }

  add(stream: SourceStream): void {
    this.#streams.push(stream)
    const { topic, partition } = stream.part
    const ofTopic = this.#byTopic.get(topic) ?? new Map<number, SourceStream>()
    this.#byTopic.set(topic, ofTopic.set(partition, stream))
    this.pump()
  }

  remove(stream: SourceStream): void {
    const i = this.#streams.indexOf(stream)
    if (i < 0) return
    this.#streams.splice(i, 1)
    const { topic, partition } = stream.part
    const ofTopic = this.#byTopic.get(topic)
    if (ofTopic?.get(partition) === stream) ofTopic.delete(partition)
    if (ofTopic?.size === 0) this.#byTopic.delete(topic)
  }

  close(): void {
    this.#cancelTimer?.()
    this.#stopRoom()
    this.#slabs.close()
    this.#slot.close()
  }

  /** Sends the next request if one may be sent now. Called whenever something changed. */
  pump(): void {
    if (this.#busy || this.#streams.length === 0) return
    const link = this.#slot.use()
    if (!link) return
    const now = this.#home.nowMs()
    if (link.throttledUntilMs > now) return this.#later(link.throttledUntilMs - now)
    const places = this.#places(now)
    const question = planFetch(places, {
      mayFetch: this.#home.account.waiting === 0,
      turn: this.#turn % Math.max(1, places.length),
      isolation: this.#home.isolation,
      rack: this.#home.rack,
      sizes,
    })
    if (!question) return this.#later(this.#untilReadyMs(now))
    this.#send(link, question)
  }

  #places(now: number): FetchPlace[] {
    const places: FetchPlace[] = []
    for (const stream of this.#streams) {
      const facts = stream.standing || stream.notBeforeMs > now ? null : this.#home.facts(stream)
      places.push({
        topic: stream.part.topic,
        topicId: facts?.topicId ?? '',
        partition: stream.part.partition,
        leaderEpoch: facts?.leaderEpoch ?? -1,
        offset: stream.position.offset,
        lastFetchedEpoch: stream.position.epoch,
        state: facts === null ? 'standing' : stream.full ? 'full' : 'ready',
      })
    }
    return places
  }

  /** When the first back-off ends; null = an event will come. */
  #untilReadyMs(now: number): number | null {
    let first: number | null = null
    for (const stream of this.#streams) {
      if (stream.standing || stream.notBeforeMs <= now) continue
      first = Math.min(first ?? Number.POSITIVE_INFINITY, stream.notBeforeMs - now)
    }
    return first
  }

  #later(ms: number | null): void {
    if (ms === null) return
    this.#cancelTimer?.()
    this.#cancelTimer = this.#home.after(ms, () => {
      this.#cancelTimer = null
      this.pump()
    })
  }

  #send(link: Link, question: FetchQuestion): void {
    const byId = (link.version(fetchApi.key) ?? 0) >= 13
    this.byName = !byId
    const asked: AllAsked = new Map()
    for (const topic of question.topics) {
      const streams = this.#byTopic.get(topic.topic)
      const key = byId ? topic.topicId : topic.topic
      const ofTopic = asked.get(key) ?? new Map<number, Asked>()
      asked.set(key, ofTopic)
      for (const { partition } of topic.partitions) {
        const stream = streams?.get(partition)
        if (stream) ofTopic.set(partition, { stream, generation: stream.generation })
      }
    }
    this.#busy = true
    this.#open = { link, dueMs: this.#home.nowMs() + question.maxWaitMs }
    this.requests++
    link.ask(fetchApi, question, { timeoutMs: question.maxWaitMs + fetchGraceMs }).then(
      reply => {
        this.#open = null
        this.#answered(reply, asked)
      },
      () => {
        this.#open = null
        // The slot tells its fault and calls `pump` again when a link stands.
        this.#busy = false
        this.pump()
      },
    )
  }

  /** Busy until all positions are moved: a fault of one stream wakes the fetcher, and the others would come twice. */
  #answered(reply: Reply<FetchAnswer>, asked: AllAsked): void {
    this.#slot.good()
    const { answer, frame } = reply
    if (answer.error !== 0) {
      frame.release()
      this.#home.wholeFault(
        [...asked.values()].flatMap(ofTopic => [...ofTopic.values()]).map(a => a.stream),
        answer.error,
      )
      this.#busy = false
      return this.pump()
    }
    const given = this.#take(answer, asked)
    this.#turn += turnsAfter(given)
    this.#busy = false
    this.pump()
    const all: FetchedBatch[] = []
    for (const g of given) if (g.generation === g.stream.generation) this.#give(g, frame, all)
    this.#slabs.add(all)
    frame.release()
  }

  /** Finds the batches and moves the positions; nothing is checked yet. */
  #take(answer: FetchAnswer, asked: AllAsked): Taken[] {
    const taken: Taken[] = []
    for (const topic of answer.topics) {
      const ofTopic = asked.get(topic.topicId ?? topic.topic ?? '')
      for (const fetched of topic.partitions) {
        const a = ofTopic?.get(fetched.partition)
        if (!a || a.stream.closed || a.generation !== a.stream.generation) continue
        if (fetched.error !== 0 || fetched.diverging) this.#home.fault(a.stream, fetched, answer)
        else {
          const { batches, broken } = walk(fetched.records ?? none)
          const { epoch } = a.stream.position
          advance(a.stream, batches)
          taken.push({ stream: a.stream, fetched, batches, broken, generation: a.generation, epoch })
        }
      }
    }
    return taken
  }

  /** Checks and delivers what one partition got; a damaged batch is fetched again, three times (W-15). */
  #give(taken: Taken, frame: Reply<FetchAnswer>['frame'], all: FetchedBatch[]): void {
    const { stream, fetched } = taken
    stream.ownTrouble = null
    const good: FetchedBatch[] = []
    let { epoch } = taken
    const deliver = () => {
      all.push(...good)
      const { logStart, lastStable, highWatermark: end } = fetched
      stream.deliver({ is: 'batches', batches: good, aborted: fetched.aborted ?? [], logStart, lastStable, end })
    }
    for (const { header, bytes } of taken.batches) {
      if (header.magic < 2) {
        if (good.length > 0) deliver()
        this.#stop(stream, { offset: header.baseOffset, epoch })
        return stream.deliver({ is: 'too-old', offset: header.baseOffset, magic: header.magic })
      }
      const checked = check(bytes, header, this.#home.crc)
      if (!checked.ok) {
        if (good.length > 0) deliver()
        return this.#damaged(
          stream,
          { offset: header.baseOffset, epoch },
          { found: header.crc, computed: checked.computed },
          bytes,
        )
      }
      frame.retain()
      good.push(stream.batch({ header, bytes, tailCrc: checked.tailCrc }, frame))
      epoch = header.partitionLeaderEpoch
    }
    if (good.length > 0) stream.corruptTries = 0
    deliver()
    if (taken.broken && good.length === 0) this.#damaged(stream, stream.position, { found: 0, computed: 0 }, none)
  }

  #damaged(stream: SourceStream, at: Position, crc: { found: number; computed: number }, bytes: Buffer): void {
    stream.corruptTries++
    this.#stop(stream, at)
    if (stream.corruptTries <= corruptTriesMax) stream.standing = false
    else stream.deliver({ is: 'corrupt', offset: at.offset, ...crc, bytes: Buffer.from(bytes) })
    this.pump()
  }

  /** Back to `at`, still able to tell a cut log (W-43); what is being fetched behind it is not ours any more. */
  #stop(stream: SourceStream, at: Position): void {
    stream.generation++
    stream.standing = true
    stream.position = at
  }
}

/**
 * How far the order is rotated (W-40): by one, and past those that filled the answer when it had no room for all. With
 * many partitions behind, each then waits for the others once, not once for each that was served.
 */
function turnsAfter(given: Taken[]): number {
  const served = given.filter(taken => taken.batches.length > 0).length
  return served < given.length ? Math.max(1, served) : 1
}

/** W-42: after whole batches only, also control and aborted ones. */
function advance(stream: SourceStream, walked: Walked[]): void {
  const last = walked.at(-1)
  if (!last || last.header.magic < 2) return
  const offset = nextOffset(last.header)
  if (offset > stream.position.offset) stream.position = { offset, epoch: last.header.partitionLeaderEpoch }
}
