import type { Crc } from '../../batch/crc.ts'
import { MillraceError } from '../../errors.ts'
import { answerLateMs, backOffMs, linkBackOff, metadataByNameRefreshMs, unitBackOff } from '../../limits.ts'
import type { BatchSink, Lane, Outcome, Part, TopicId, Trouble } from '../../ports/kafka.ts'
import type { Cluster } from './cluster.ts'
import { classify, troubleCode } from './decide/classify.ts'
import { inFlight } from './decide/sendQueue.ts'
import type { Endpoint } from './frames/api.ts'
import { initProducerIdApi } from './frames/initProducerId.ts'
import { Sender } from './sender.ts'
import { type Identity, SinkLane, SinkPartition, sameTopic } from './sinkPartition.ts'
import type { MemoryAccount } from './slab.ts'
import { LinkSlot, troubleOf } from './slot.ts'

/** A producer without transactions needs no time-out, but the field is there. */
const noTransactionTimeoutMs = 60_000

/**
 * All lanes of one cluster: which broker's sender writes each partition, and the producer id (W-50). A fault that
 * asks for a new producer id gives one to that partition alone; the others keep theirs (docs/decisions/0003).
 */
export class Sink implements BatchSink {
  readonly #cluster: Cluster
  readonly #crc: Crc
  readonly #account: MemoryAccount
  readonly #partitions = new Map<string, SinkPartition>()
  readonly #senders = new Map<number, Sender>()
  readonly #stopChange: () => void
  #identity: Identity | null = null
  #asking: Promise<Identity> | null = null
  #identityTrouble: Trouble | null = null
  #endpoints: Endpoint[] = []
  #closed = false
  #stopByName: (() => void) | null = null
  /** New producer ids after a fault (`millrace_kafka_producer_resets_total`). */
  producerResets = 0

  /** `account`: that of the batches it is given; what is held for a broker that does not read is given back (W-32). */
  constructor(how: { cluster: Cluster; crc: Crc; account: MemoryAccount }) {
    this.#cluster = how.cluster
    this.#crc = how.crc
    this.#account = how.account
    this.#stopChange = how.cluster.onChange(() => this.#assignAll())
  }

  /** Requests sent and links swapped so far, for measures and tests. */
  get counts(): { requests: number; swaps: number } {
    let requests = 0
    let swaps = 0
    for (const sender of this.#senders.values()) {
      requests += sender.requests
      swaps += sender.swaps
    }
    return { requests, swaps }
  }

  open<T>(to: Part & { topicId: TopicId }, mayWrite: () => boolean, onOutcome: (outcome: Outcome<T>) => void): Lane<T> {
    const key = `${to.topic}/${to.partition}`
    let partition = this.#partitions.get(key)
    if (!partition) {
      partition = this.#made({ topic: to.topic, partition: to.partition })
      this.#partitions.set(key, partition)
    }
    const first = partition.lanes.size === 0
    const lane = new SinkLane<T>(partition, to.topicId, mayWrite, onOutcome)
    if (first) {
      this.#cluster.want(to.topic)
      this.#assign(partition)
      this.#refreshByName()
    }
    return lane
  }

  /** W-70: every link with an unanswered Produce is reset at once. */
  cut(): void {
    for (const sender of this.#senders.values()) sender.cut()
  }

  close(): void {
    this.#closed = true
    this.#stopChange()
    this.#stopByName?.()
    for (const sender of this.#senders.values()) sender.close()
  }

  /** W-45: where batches go by name only Metadata tells that a topic was made anew. */
  #refreshByName(): void {
    if (this.#stopByName) return
    this.#stopByName = this.#cluster.clock.after(metadataByNameRefreshMs, () => {
      this.#stopByName = null
      if (this.#closed || ![...this.#partitions.values()].some(p => p.lanes.size > 0)) return
      if ([...this.#senders.values()].some(sender => sender.byName)) this.#cluster.refreshSoon()
      this.#refreshByName()
    })
  }

  #made(part: Part): SinkPartition {
    const { clock, chance, name } = this.#cluster
    return new SinkPartition(part, {
      name,
      nowMs: () => clock.nowMs(),
      chance,
      wake: (p, afterMs) => this.#wake(p, afterMs),
      reset: p => this.#renew(p),
      leaderMoved: (p, produced) => {
        if (!this.#cluster.hint(p.part, produced?.leader ?? null, this.#endpoints)) this.#cluster.refreshSoon()
      },
      missing: p => this.#cluster.doubt(p.part.topic),
      knows: p => {
        const topic = this.#cluster.topicOf(p.part.topic)
        return topic?.error === 0 && sameTopic(p.topicId, topic.topicId)
      },
      trouble: p => this.#trouble(p),
      resetLink: p => this.#senderOf(p)?.cut(),
      closed: p => this.#rest(p),
    })
  }

  #senderOf(partition: SinkPartition): Sender | undefined {
    return partition.broker === null ? undefined : this.#senders.get(partition.broker)
  }

  #wake(partition: SinkPartition, afterMs: number): void {
    if (this.#closed) return
    if (partition.identity === null && partition.queue.entries.length > 0) this.#identify(partition)
    // Under way to the old leader: the move comes when the last open request has ended (W-51).
    if (inFlight(partition.queue) === 0) this.#assign(partition)
    this.#senderOf(partition)?.wake(partition, afterMs)
  }

  /** The partition stays known: should a lane be opened again, the producer's sequences go on. */
  #rest(partition: SinkPartition): void {
    this.#senderOf(partition)?.remove(partition)
    this.#cluster.unwant(partition.part.topic)
  }

  /** Only when nothing is under way: an answer to the old numbers must find the queue as it was. */
  #identify(partition: SinkPartition): void {
    if (inFlight(partition.queue) > 0) return
    const identity = this.#identity
    if (!identity) void this.#ask().catch(() => {})
    else if (identity.producerId === partition.usedProducerId) this.#renew(partition)
    else partition.renumber(identity)
  }

  #assignAll(): void {
    for (const partition of this.#partitions.values()) {
      if (inFlight(partition.queue) === 0) this.#assign(partition)
      this.#senderOf(partition)?.wake(partition, 0)
    }
  }

  #assign(partition: SinkPartition): void {
    const topic = this.#cluster.topicOf(partition.part.topic)
    if (!topic) return
    if (topic.error !== 0) {
      partition.missingSinceMs ??= this.#cluster.clock.nowMs()
      return this.#cluster.refreshSoon()
    }
    // W-45: it was made anew; its lanes are told with the first batch that waits.
    if (!partition.seen(topic.topicId)) return
    const leader = this.#cluster.leaderOf(partition.part)
    // Written before, its broker says so itself. Never written, nobody does: it may be newer than what we know.
    if (!leader && partition.broker === null) {
      partition.missingSinceMs ??= this.#cluster.clock.nowMs()
      return this.#cluster.refreshSoon()
    }
    partition.missingSinceMs = null
    if (!leader || leader.id === partition.broker) return
    this.#senderOf(partition)?.remove(partition)
    partition.broker = leader.id
    partition.notBeforeMs = 0
    this.#sender(leader.id).wake(partition, 0)
  }

  #sender(broker: number): Sender {
    const there = this.#senders.get(broker)
    if (there) return there
    const { clock, chance } = this.#cluster
    const made = new Sender(
      broker,
      {
        clock,
        crc: this.#crc,
        account: this.#account,
        onFault: () => this.#cluster.refreshSoon(),
        onEndpoints: endpoints => {
          this.#endpoints = endpoints
        },
      },
      tell =>
        new LinkSlot({ connect: () => this.#cluster.linkTo(broker, 'send'), clock, chance, quietSwap: true, ...tell }),
    )
    this.#senders.set(broker, made)
    return made
  }

  /** W-52, for one partition: what was in doubt may be doubled. */
  #renew(partition: SinkPartition): void {
    this.producerResets++
    this.#identity = null
    this.#identify(partition)
  }

  /** One producer id for all partitions that need one; asked until a broker gives it. */
  #ask(): Promise<Identity> {
    this.#asking ??= this.#askUntilGiven().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  async #askUntilGiven(): Promise<Identity> {
    const { clock, chance } = this.#cluster
    for (let tries = 1; ; tries++) {
      if (this.#closed) throw new MillraceError('kafka-unreachable', `${this.#cluster.name}: closed`)
      const found = await this.#askOnce()
      if ('producerId' in found) {
        this.#identityTrouble = null
        this.#identity = found
        for (const p of this.#partitions.values()) if (p.identity === null) this.#wake(p, 0)
        return found
      }
      const wait = backOffMs(found.slow ? unitBackOff : linkBackOff, tries, chance)
      const now = clock.nowMs()
      const { code, kafka, message } = found
      const sinceMs = this.#identityTrouble?.sinceMs ?? now
      this.#identityTrouble = { code, kafka, message, sinceMs, tries, nextTryMs: now + wait }
      await new Promise<void>(resolve => clock.after(wait, resolve))
    }
  }

  async #askOnce(): Promise<Identity | { code: string; kafka: number | null; message: string; slow: boolean }> {
    const question = { transactionalId: null, timeoutMs: noTransactionTimeoutMs, producerId: -1n, producerEpoch: -1 }
    try {
      const answer = await this.#cluster.askAny(initProducerIdApi, question)
      if (answer.error === 0) return { producerId: answer.producerId, producerEpoch: answer.producerEpoch }
      const kafka = answer.error
      const message = `${this.#cluster.name}: InitProducerId failed with Kafka's error ${kafka}`
      return { code: troubleCode(kafka, 'destination'), kafka, message, slow: classify('other', kafka) === 'wait' }
    } catch (cause) {
      const code = cause instanceof MillraceError ? cause.code : 'kafka-unreachable'
      return { code, kafka: null, message: cause instanceof Error ? cause.message : String(cause), slow: false }
    }
  }

  #trouble(partition: SinkPartition): Trouble | null {
    const now = this.#cluster.clock.nowMs()
    const sender = this.#senderOf(partition)
    if (sender?.fault) {
      return troubleOf(sender.fault, sender.fault.nextTryMs)
    }
    // Also what could not be written yet behind a silent broker must not hold memory that others need (M-90).
    const silentMs = sender?.silentSinceMs ?? null
    if (sender && silentMs !== null && now - silentMs >= answerLateMs) {
      const message = `${this.#cluster.name}: broker ${sender.broker} does not answer`
      return { code: 'kafka-unreachable', kafka: null, message, sinceMs: silentMs, tries: 1, nextTryMs: now }
    }
    if (partition.identity === null && this.#identityTrouble) return this.#identityTrouble
    if (partition.missingSinceMs !== null) {
      const { topic, partition: number } = partition.part
      const error = this.#cluster.topicOf(topic)?.error ?? 3
      const kafka = error === 0 ? 5 : error
      const what = error === 0 ? `${topic}/${number} has no leader` : `topic ${topic} is not there`
      const message = `${this.#cluster.name}: ${what} (Kafka's error ${kafka})`
      const sinceMs = partition.missingSinceMs
      return { code: troubleCode(kafka, 'destination'), kafka, message, sinceMs, tries: 1, nextTryMs: now }
    }
    const fault = partition.broker === null ? this.#cluster.fault : null
    if (!fault) return null
    return troubleOf(fault, now)
  }
}
