import type { Crc } from '../../batch/crc.ts'
import { rewrite } from '../../batch/rewrite.ts'
import { produceBytesMax, produceGraceMs, produceInFlightMax, produceTimeoutMs } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { planSend } from './decide/planSend.ts'
import { type SendQueue, wrote } from './decide/sendQueue.ts'
import { FetchedBatch } from './fetchedBatch.ts'
import type { Endpoint } from './frames/api.ts'
import { type ProduceAnswer, type ProducedPartition, type ProduceQuestion, produceApi } from './frames/produce.ts'
import type { Link } from './link.ts'
import type { Outgoing, SinkPartition } from './sinkPartition.ts'
import type { MemoryAccount } from './slab.ts'
import type { LinkSlot, SlotFault } from './slot.ts'
import { WriteWatch } from './writeWatch.ts'

type Pick = { partition: SinkPartition; entry: Outgoing; queue: SendQueue<Outgoing> }

/** Writes all partitions of one broker over one link, at most five requests open (KAFKA-CLIENT W-50). */
export class Sender {
  readonly broker: number
  readonly #slot: LinkSlot
  readonly #writes: WriteWatch
  readonly #clock: Clock
  readonly #crc: Crc
  readonly #onEndpoints: (endpoints: Endpoint[]) => void
  /** Partitions with something queued; the first written goes to the end, so that all get their turn. */
  readonly #active = new Set<SinkPartition>()
  #scheduled = false
  #cancelTimer: (() => void) | null = null
  #timerAtMs = Number.POSITIVE_INFINITY
  requests = 0
  /** The broker speaks only versions that name topics, not their ids. */
  byName = false
  #open = 0
  #silentSinceMs: number | null = null

  constructor(
    broker: number,
    how: {
      clock: Clock
      crc: Crc
      account: MemoryAccount
      onFault: (fault: SlotFault) => void
      onEndpoints: (endpoints: Endpoint[]) => void
    },
    slot: (tell: { onReady: () => void; onFault: (fault: SlotFault) => void }) => LinkSlot,
  ) {
    this.broker = broker
    this.#clock = how.clock
    this.#crc = how.crc
    this.#writes = new WriteWatch(how)
    this.#onEndpoints = how.onEndpoints
    this.#slot = slot({ onReady: () => this.#soon(), onFault: how.onFault })
  }

  get fault(): SlotFault | null {
    return this.#slot.fault
  }

  /** Since when the broker has answered none of the open requests; null = none is open. */
  get silentSinceMs(): number | null {
    return this.#silentSinceMs
  }

  get swaps(): number {
    return this.#slot.swaps
  }

  wake(partition: SinkPartition, afterMs: number): void {
    if (partition.queue.entries.length === 0) this.#active.delete(partition)
    else this.#active.add(partition)
    if (afterMs > 0) this.#at(afterMs)
    else this.#soon()
  }

  remove(partition: SinkPartition): void {
    this.#active.delete(partition)
  }

  /** Resets the link if a request is open on it. */
  cut(): void {
    if ((this.#slot.present?.open ?? 0) > 0) this.#slot.cut()
  }

  close(): void {
    this.#cancelTimer?.()
    this.#active.clear()
    this.#writes.close()
    this.#slot.close()
  }

  /** One pass at the end of the turn, however many batches and answers the turn brings. */
  #soon(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.#pump()
    })
  }

  #at(ms: number): void {
    const at = this.#clock.nowMs() + ms
    if (at >= this.#timerAtMs) return
    this.#cancelTimer?.()
    this.#timerAtMs = at
    this.#cancelTimer = this.#clock.after(ms, () => {
      this.#timerAtMs = Number.POSITIVE_INFINITY
      this.#pump()
    })
  }

  #pump(): void {
    while (this.#active.size > 0) {
      const link = this.#slot.use()
      if (!link) return
      const wait = link.throttledUntilMs - this.#clock.nowMs()
      if (wait > 0) return this.#at(wait)
      for (const partition of this.#active) partition.over(link)
      const picks = planSend<Outgoing, SinkPartition>(this.#active, {
        open: link.open,
        openMax: produceInFlightMax,
        bytesMax: produceBytesMax,
      })
      if (!picks) return this.#afterBackOff()
      this.#write(link, picks)
    }
  }

  /** One timer for all partitions, so each pass sets it anew for the first whose back-off ends. */
  #afterBackOff(): void {
    const now = this.#clock.nowMs()
    let first = Number.POSITIVE_INFINITY
    for (const { notBeforeMs } of this.#active) if (notBeforeMs > now) first = Math.min(first, notBeforeMs)
    if (first < Number.POSITIVE_INFINITY) this.#at(first - now)
  }

  #write(link: Link, picked: { partition: SinkPartition; entry: Outgoing }[]): void {
    const byId = (link.version(produceApi.key) ?? 0) >= 13
    this.byName = !byId
    const picks = new Map<string, Pick>()
    const topics = new Map<string, ProduceQuestion['topics'][number]>()
    const pinned: FetchedBatch[] = []
    const now = this.#clock.nowMs()
    for (const { partition, entry } of picked) {
      const { part, queue } = partition
      const { batch } = entry
      this.#give(partition, entry)
      entry.writtenMs = now
      if (batch instanceof FetchedBatch) pinned.push(batch)
      const topicId = partition.topicId ?? ''
      const topic = topics.get(part.topic) ?? { topic: part.topic, topicId, partitions: [] }
      topic.partitions.push({ partition: part.partition, records: batch.bytes })
      topics.set(part.topic, topic)
      picks.set(`${byId ? topicId : part.topic}/${part.partition}`, { partition, entry, queue })
      // Written: its turn comes again after all others.
      this.#active.delete(partition)
      this.#active.add(partition)
    }
    this.requests++
    if (this.#open++ === 0) this.#silentSinceMs = now
    const question = { transactionalId: null, timeoutMs: produceTimeoutMs, topics: [...topics.values()] }
    const onWritten = this.#writes.began(link, pinned)
    link.ask(produceApi, question, { timeoutMs: produceTimeoutMs + produceGraceMs, onWritten }).then(
      reply => this.#answered(reply.answer, picks),
      () => {
        if (--this.#open === 0) this.#silentSinceMs = null
        for (const { partition, entry, queue } of picks.values()) partition.lost(queue, entry)
      },
    )
  }

  /** Sequence and producer at the first write; a batch that is written again keeps its bytes (W-50). */
  #give(partition: SinkPartition, entry: Outgoing): void {
    const fresh = entry.sequence === null
    wrote(partition.queue, entry)
    if (!fresh || entry.sequence === null || !partition.identity) return
    const producer = { ...partition.identity, sequence: entry.sequence, transactional: false }
    rewrite(entry.batch.bytes, producer, entry.batch.tailCrc, this.#crc)
  }

  #answered(answer: ProduceAnswer, picks: Map<string, Pick>): void {
    this.#slot.good()
    this.#silentSinceMs = --this.#open === 0 ? null : this.#clock.nowMs()
    if (answer.endpoints.length > 0) this.#onEndpoints(answer.endpoints)
    for (const topic of answer.topics) {
      for (const produced of topic.partitions) {
        const key = `${topic.topicId ?? topic.topic}/${produced.partition}`
        const pick = picks.get(key)
        if (!pick) continue
        picks.delete(key)
        pick.partition.produced(pick.queue, pick.entry, produced)
      }
    }
    for (const pick of picks.values()) pick.partition.produced(pick.queue, pick.entry, notAnswered(pick))
    this.#soon()
  }
}

/** A response that leaves a partition out says nothing of it: asked again, as an unknown error. */
function notAnswered(pick: Pick): ProducedPartition {
  return {
    partition: pick.partition.part.partition,
    error: -1,
    baseOffset: -1n,
    appendTimeMs: -1n,
    logStart: -1n,
    recordErrors: [],
    message: 'the answer left the partition out',
    leader: null,
  }
}
