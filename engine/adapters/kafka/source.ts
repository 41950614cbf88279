import type { Crc } from '../../batch/crc.ts'
import { backOffMs, linkBackOff, metadataByNameRefreshMs, unitBackOff } from '../../limits.ts'
import type { Answer, BatchSource, Isolation, Part, Position, Stream, TopicId, Trouble } from '../../ports/kafka.ts'
import type { Cluster } from './cluster.ts'
import { classify, troubleCode } from './decide/classify.ts'
import { Fetcher } from './fetcher.ts'
import type { FetchAnswer, FetchedPartition } from './frames/fetch.ts'
import { listOffsetsApi } from './frames/listOffsets.ts'
import type { MemoryAccount } from './slab.ts'
import { LinkSlot, troubleOf } from './slot.ts'
import { SourceStream } from './stream.ts'

/**
 * All streams of one cluster, isolation and rack: which broker's fetcher reads each, and what a broker's refusal
 * means for it (KAFKA-CLIENT W-43 to W-45, §5).
 */
export class Source implements BatchSource {
  readonly #cluster: Cluster
  readonly #account: MemoryAccount
  readonly #crc: Crc
  readonly #isolation: 0 | 1
  readonly #rack: string
  readonly #streams = new Set<SourceStream>()
  /** By broker and seat. */
  readonly #fetchers = new Map<string, Fetcher>()
  readonly #stopChange: () => void
  #stopByName: (() => void) | null = null
  /** Of fetchers that were given up. */
  #pastRequests = 0
  #closed = false

  constructor(how: { cluster: Cluster; account: MemoryAccount; crc: Crc; isolation: Isolation; rack: string | null }) {
    this.#cluster = how.cluster
    this.#account = how.account
    this.#crc = how.crc
    this.#isolation = how.isolation === 'read_committed' ? 1 : 0
    this.#rack = how.rack ?? ''
    this.#stopChange = how.cluster.onChange(() => this.#assignAll())
  }

  /** Requests sent so far, for measures and tests. */
  get requests(): number {
    let sum = this.#pastRequests
    for (const fetcher of this.#fetchers.values()) sum += fetcher.requests
    return sum
  }

  open(part: Part & { topicId: TopicId }, at: Position): Stream {
    const stream = new SourceStream(part, at, this.#freeSeat(part), {
      account: this.#account,
      wake: s => {
        this.#assign(s)
        this.#fetcherOf(s)?.pump()
      },
      trouble: s => this.#trouble(s),
      closed: s => this.#forget(s),
    })
    this.#streams.add(stream)
    this.#cluster.want(part.topic)
    this.#assign(stream)
    this.#refreshByName()
    return stream
  }

  close(): void {
    this.#closed = true
    this.#stopChange()
    this.#stopByName?.()
    for (const stream of [...this.#streams]) stream.close()
    for (const fetcher of this.#fetchers.values()) fetcher.close()
  }

  #fetcherOf(stream: SourceStream): Fetcher | undefined {
    return stream.broker === null ? undefined : this.#fetchers.get(fetcherKey(stream.broker, stream.seat))
  }

  /** A request names a partition once: a second stream of it, another flow's, is read over another link. */
  #freeSeat({ topic, partition }: Part): number {
    const taken = new Set<number>()
    for (const { part, seat } of this.#streams)
      if (part.topic === topic && part.partition === partition) taken.add(seat)
    let seat = 0
    while (taken.has(seat)) seat++
    return seat
  }

  #forget(stream: SourceStream): void {
    this.#streams.delete(stream)
    this.#fetcherOf(stream)?.remove(stream)
    this.#cluster.unwant(stream.part.topic)
    this.#dropEmpty()
  }

  #assignAll(): void {
    for (const stream of [...this.#streams]) this.#assign(stream)
    for (const fetcher of this.#fetchers.values()) fetcher.pump()
    this.#dropEmpty()
  }

  #dropEmpty(): void {
    for (const [key, fetcher] of this.#fetchers) {
      if (!fetcher.empty) continue
      fetcher.close()
      this.#pastRequests += fetcher.requests
      this.#fetchers.delete(key)
    }
  }

  #assign(stream: SourceStream): void {
    const topic = this.#cluster.topicOf(stream.part.topic)
    if (!topic) return
    if (topic.error !== 0) return this.#inTrouble(stream, topic.error, `topic ${stream.part.topic}`)
    if (topic.topicId !== '' && stream.topicId !== '' && topic.topicId !== stream.topicId) {
      if (stream.standing) return
      stream.generation++
      return stream.deliver({ is: 'recreated', topicId: topic.topicId })
    }
    const leader = this.#cluster.leaderOf(stream.part)
    if (!leader) return this.#inTrouble(stream, 5, 'the partition has no leader')
    if (stream.broker === leader.id) return
    this.#fetcherOf(stream)?.remove(stream)
    stream.generation++
    stream.broker = leader.id
    stream.notBeforeMs = 0
    this.#fetcher(leader.id, stream.seat).add(stream)
  }

  #fetcher(broker: number, seat: number): Fetcher {
    const key = fetcherKey(broker, seat)
    const there = this.#fetchers.get(key)
    if (there) return there
    const { clock, chance } = this.#cluster
    const made = new Fetcher(
      broker,
      {
        isolation: this.#isolation,
        rack: this.#rack,
        account: this.#account,
        crc: this.#crc,
        nowMs: () => clock.nowMs(),
        after: (ms, then) => clock.after(ms, then),
        facts: s => this.#facts(s),
        fault: (s, fetched, answer) => this.#fault(s, fetched, answer),
        wholeFault: (streams, error) => {
          for (const s of streams) this.#inTrouble(s, error, 'the whole fetch')
        },
        linkFault: () => this.#cluster.refreshSoon(),
      },
      tell =>
        new LinkSlot({
          connect: () => this.#cluster.linkTo(broker, 'fetch'),
          clock,
          chance,
          quietSwap: false,
          ...tell,
        }),
    )
    this.#fetchers.set(key, made)
    return made
  }

  #facts(stream: SourceStream): { topicId: TopicId; leaderEpoch: number } | null {
    const topic = this.#cluster.topicOf(stream.part.topic)
    const leader = this.#cluster.leaderOf(stream.part)
    if (!topic || !leader || leader.id !== stream.broker) return null
    if (topic.topicId !== '' && stream.topicId !== '' && topic.topicId !== stream.topicId) return null
    return { topicId: stream.topicId === '' ? topic.topicId : stream.topicId, leaderEpoch: leader.epoch }
  }

  #fault(stream: SourceStream, fetched: FetchedPartition, answer: FetchAnswer): void {
    const { diverging } = fetched
    if (fetched.error === 0 && diverging) {
      const { endOffset: offset, epoch } = diverging
      return this.#stand(stream, async () => ({ is: 'diverged', offset, epoch }))
    }
    const verdict = classify('fetch', fetched.error)
    if (verdict === 'out-of-range') return this.#stand(stream, () => this.#logRange(stream))
    if (verdict === 'leader' && this.#cluster.hint(stream.part, fetched.leader, answer.endpoints)) return
    this.#inTrouble(stream, fetched.error, 'the fetch')
    if (verdict === 'leader') this.#cluster.refreshSoon()
    // Where fetches go by name, the next might be of a topic made anew under that name: first its id (W-45).
    if (verdict === 'missing') this.#cluster.doubt(stream.part.topic)
  }

  /** The flow is told when all is known; fetched by name it may be another topic's log (W-45). */
  #stand(stream: SourceStream, answer: () => Promise<Answer>): void {
    stream.standing = true
    const { generation } = stream
    Promise.all([answer(), this.#isSame(stream)]).then(
      ([told, same]) => {
        if (stream.closed || stream.generation !== generation) return
        if (same) {
          stream.generation++
          return stream.deliver(told)
        }
        stream.standing = false
        this.#cluster.doubt(stream.part.topic)
      },
      () => {
        if (stream.closed || stream.generation !== generation) return
        stream.standing = false
        this.#inTrouble(stream, 5, 'its offsets cannot be read')
      },
    )
  }

  async #isSame(stream: SourceStream): Promise<boolean> {
    if (stream.topicId === '' || !this.#fetcherOf(stream)?.byName) return true
    const { topics } = await this.#cluster.look([stream.part.topic])
    const now = topics[0]?.topicId ?? ''
    return now === '' || now === stream.topicId
  }

  /** W-43: the answer carries −1 for log start and watermark, so they are asked for. */
  async #logRange(stream: SourceStream): Promise<Answer> {
    const { part } = stream
    const broker = stream.broker ?? -1
    const ask = async (isolation: 0 | 1, timeMs: bigint): Promise<bigint> => {
      const partitions = [{ partition: part.partition, leaderEpoch: -1, timeMs }]
      const answer = await this.#cluster.askBroker(broker, listOffsetsApi, {
        isolation,
        topics: [{ topic: part.topic, partitions }],
      })
      const found = answer.topics[0]?.partitions[0]
      if (found?.error !== 0 || found.offset < 0n) throw new Error('no offset')
      return found.offset
    }
    const [logStart, lastStable, end] = await Promise.all([ask(0, -2n), ask(1, -1n), ask(0, -1n)])
    return { is: 'out-of-range', logStart, lastStable, end }
  }

  #inTrouble(stream: SourceStream, kafka: number, what: string): void {
    const { clock, chance } = this.#cluster
    const now = clock.nowMs()
    const tries = (stream.ownTrouble?.tries ?? 0) + 1
    const slow = ['wait', 'login', 'unknown'].includes(classify('fetch', kafka))
    const wait = backOffMs(slow ? unitBackOff : linkBackOff, tries, chance)
    stream.notBeforeMs = now + wait
    stream.ownTrouble = {
      code: troubleCode(kafka, 'source'),
      kafka,
      message: `${this.#cluster.name}: ${stream.part.topic}/${stream.part.partition}: ${what} failed with Kafka's error ${kafka}`,
      sinceMs: stream.ownTrouble?.sinceMs ?? now,
      tries,
      nextTryMs: stream.notBeforeMs,
    }
    this.#fetcherOf(stream)?.pump()
    // A topic or leader that is not there is looked for again; the cluster paces the requests (W-44).
    if (stream.broker === null || !this.#cluster.leaderOf(stream.part)) this.#cluster.refreshSoon()
  }

  #trouble(stream: SourceStream): Trouble | null {
    const slot = this.#fetcherOf(stream)?.fault ?? null
    const fault = slot ?? (stream.broker === null ? this.#cluster.fault : null)
    if (!fault) return this.#silence(stream)
    return troubleOf(fault, slot?.nextTryMs ?? this.#cluster.clock.nowMs())
  }

  /** A broker that is there and says nothing (W-76). */
  #silence(stream: SourceStream): Trouble | null {
    const sinceMs = this.#fetcherOf(stream)?.lateSinceMs ?? null
    if (sinceMs === null) return null
    const message = `${this.#cluster.name}: broker ${stream.broker} does not answer`
    return {
      code: 'kafka-unreachable',
      kafka: null,
      message,
      sinceMs,
      tries: 1,
      nextTryMs: this.#cluster.clock.nowMs(),
    }
  }

  /** W-45: where fetches go by name only Metadata tells that a topic was made anew. */
  #refreshByName(): void {
    if (this.#stopByName) return
    this.#stopByName = this.#cluster.clock.after(metadataByNameRefreshMs, () => {
      this.#stopByName = null
      if (this.#closed || this.#streams.size === 0) return
      if ([...this.#fetchers.values()].some(fetcher => fetcher.byName)) this.#cluster.refreshSoon()
      this.#refreshByName()
    })
  }
}

function fetcherKey(broker: number, seat: number): string {
  return `${broker}/${seat}`
}
