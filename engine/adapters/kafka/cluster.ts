import { MillraceError } from '../../errors.ts'
import { backOffMs, linkBackOff } from '../../limits.ts'
import type { Chance, Clock } from '../../ports/clock.ts'
import type { Part, TopicId } from '../../ports/kafka.ts'
import { ControlLink } from './control.ts'
import type { Api, Endpoint, LeaderHint } from './frames/api.ts'
import { type MetadataAnswer, metadataApi } from './frames/metadata.ts'
import type { Link } from './link.ts'

export type LinkPurpose = 'fetch' | 'send' | 'control'
export type Address = { host: string; port: number }
/** Login, ApiVersions, and the link is there; rejects with a MillraceError. */
export type Connect = (address: Address, purpose: LinkPurpose) => Promise<Link>

export type Leader = { id: number; epoch: number }
type KnownTopic = { topicId: TopicId; error: number; leaders: Map<number, Leader> }

/**
 * What we know of a cluster, its brokers, topics and leaders, and the control links to its brokers (W-20, W-44).
 * The addresses of the configuration are used only while no broker is known.
 */
export class Cluster {
  readonly name: string
  readonly clock: Clock
  readonly chance: Chance
  readonly #connect: Connect
  readonly #bootstrap: Address[]
  readonly #advertised: ReadonlyMap<string, Address>
  readonly #brokers = new Map<number, Address & { rack: string | null }>()
  readonly #topics = new Map<string, KnownTopic>()
  readonly #doubted = new Set<string>()
  readonly #wanted = new Map<string, number>()
  readonly #control = new Map<number, ControlLink>()
  #first: { link: ControlLink; index: number; users: number } | null = null
  readonly #changed = new Set<() => void>()
  #refreshing: Promise<void> | null = null
  #again = false
  #newAgain = false
  #cancelTimer: (() => void) | null = null
  #tries = 0
  #lastAskMs = Number.NEGATIVE_INFINITY
  #closed = false
  #turn = 0
  #fault: { error: MillraceError; sinceMs: number; tries: number } | null = null
  metadataRequests = 0

  /** `advertised`: W-20, the addresses that brokers name, mapped to those that can be reached. */
  constructor(how: {
    name: string
    bootstrap: Address[]
    advertised: ReadonlyMap<string, Address>
    connect: Connect
    clock: Clock
    chance: Chance
  }) {
    this.name = how.name
    this.clock = how.clock
    this.chance = how.chance
    this.#bootstrap = how.bootstrap
    this.#advertised = how.advertised
    this.#connect = how.connect
  }

  /** Why no metadata can be had at present, or null. */
  get fault(): { error: MillraceError; sinceMs: number; tries: number } | null {
    return this.#fault
  }

  /** Metadata of this topic is kept up to date until `unwant`. */
  want(topic: string): void {
    const users = this.#wanted.get(topic) ?? 0
    this.#wanted.set(topic, users + 1)
    if (users === 0 && !this.#topics.has(topic)) this.#refreshNow()
  }

  unwant(topic: string): void {
    const users = (this.#wanted.get(topic) ?? 1) - 1
    if (users > 0) this.#wanted.set(topic, users)
    else {
      this.#wanted.delete(topic)
      this.#topics.delete(topic)
      this.#doubted.delete(topic)
    }
  }

  /** Calls `tell` after each metadata answer and leader hint, and when none can be had. */
  onChange(tell: () => void): () => void {
    this.#changed.add(tell)
    return () => this.#changed.delete(tell)
  }

  leaderOf(part: Part): Leader | null {
    const leader = this.#doubted.has(part.topic) ? null : this.#topics.get(part.topic)?.leaders.get(part.partition)
    return leader && this.#brokers.has(leader.id) ? leader : null
  }

  /** A broker does not know this topic by the id or name we have: nothing is known of it before the next answer. */
  doubt(topic: string): void {
    if (!this.#topics.has(topic)) return
    this.#doubted.add(topic)
    this.refreshSoon()
  }

  /** `null` = not known yet; `error` 3 = the cluster says that it is not there. */
  topicOf(topic: string): { topicId: TopicId; error: number } | null {
    return this.#doubted.has(topic) ? null : (this.#topics.get(topic) ?? null)
  }

  /** A response named a newer leader (W-44); an older epoch than ours changes nothing. */
  hint(part: Part, leader: LeaderHint | null, endpoints: Endpoint[]): boolean {
    if (!leader || leader.id < 0) return false
    const known = this.#topics.get(part.topic)
    const old = known?.leaders.get(part.partition)
    if (!known || (old && old.epoch >= leader.epoch)) return false
    for (const e of endpoints)
      if (!this.#brokers.has(e.id)) this.#brokers.set(e.id, { host: e.host, port: e.port, rack: null })
    if (!this.#brokers.has(leader.id)) return false
    known.leaders.set(part.partition, { id: leader.id, epoch: leader.epoch })
    for (const tell of this.#changed) tell()
    return true
  }

  /** A coordinator that our metadata does not name yet. */
  learnBroker(id: number, host: string, port: number): void {
    if (!this.#brokers.has(id)) this.#brokers.set(id, { host, port, rack: null })
  }

  /** Opens a data link to a broker. */
  linkTo(broker: number, purpose: LinkPurpose): Promise<Link> {
    const known = this.#brokers.get(broker)
    if (!known) return Promise.reject(this.#unknown(broker))
    return this.#connect(this.#reach(known), purpose)
  }

  /** Asks one broker over its control link. */
  askBroker<Question, Answer>(
    broker: number,
    api: Api<Question, Answer>,
    question: Question,
    mayWrite?: () => boolean,
  ): Promise<Answer> {
    if (this.#closed) return Promise.reject(new MillraceError('kafka-unreachable', `${this.name}: closed`))
    return this.#controlOf(broker).ask(api, question, mayWrite)
  }

  /** Asks any broker, each known one in turn; rejects with the last one's error when all fail. */
  async askAny<Question, Answer>(api: Api<Question, Answer>, question: Question): Promise<Answer> {
    let last: unknown = null
    const ids = [...this.#brokers.keys()]
    this.#turn++
    for (let i = 0; i < ids.length; i++) {
      try {
        return await this.askBroker(ids[(i + this.#turn) % ids.length] as number, api, question)
      } catch (error) {
        last = error
        if (error instanceof MillraceError && !error.retryable) throw error
      }
    }
    if (this.#closed) throw last ?? this.#unknown(-1)
    return this.#askBootstrap(api, question, last)
  }

  /** Metadata now; joins a request that is under way. Rejects when no broker answers. */
  async look(topics: string[] | 'all'): Promise<MetadataAnswer> {
    this.metadataRequests++
    const answer = await this.askAny(metadataApi, { topics })
    this.#learn(answer)
    return answer
  }

  /** Asks for metadata of what is wanted, at most once per step of the `link` curve for the whole cluster (W-44). */
  refreshSoon(): void {
    if (this.#closed) return
    if (this.#refreshing) {
      this.#again = true
      return
    }
    if (this.#cancelTimer) return
    const now = this.clock.nowMs()
    if (now - this.#lastAskMs > linkBackOff.lastMs) this.#tries = 0
    const wait = this.#tries === 0 ? 0 : backOffMs(linkBackOff, this.#tries, this.chance)
    this.#tries++
    this.#cancelTimer = this.clock.after(wait, () => this.#startRefresh())
  }

  /** A topic that is asked for the first time is no repeat: it waits for no step of the curve. */
  #refreshNow(): void {
    if (this.#closed) return
    if (this.#fault) return this.refreshSoon()
    if (this.#refreshing) this.#newAgain = true
    else {
      this.#cancelTimer?.()
      this.#cancelTimer = this.clock.after(0, () => this.#startRefresh())
    }
  }

  #startRefresh(): void {
    this.#cancelTimer = null
    this.#refreshing = this.#refresh().finally(() => {
      this.#refreshing = null
      const again = this.#again
      const failed = this.#fault !== null
      this.#again = false
      const fresh = this.#newAgain && !failed
      this.#newAgain = false
      if (fresh) this.#refreshNow()
      else if (again) this.refreshSoon()
    })
  }

  cut(): void {
    for (const link of this.#control.values()) link.cut()
    this.#first?.link.cut()
  }

  close(): void {
    this.#closed = true
    this.#cancelTimer?.()
    for (const link of this.#control.values()) link.close()
    this.#first?.link.close()
  }

  async #refresh(): Promise<void> {
    this.#lastAskMs = this.clock.nowMs()
    try {
      await this.look([...this.#wanted.keys()])
      this.#fault = null
    } catch (cause) {
      if (this.#closed) return
      const error = cause instanceof MillraceError ? cause : this.#unknown(-1)
      this.#fault = { error, sinceMs: this.#fault?.sinceMs ?? this.clock.nowMs(), tries: (this.#fault?.tries ?? 0) + 1 }
      this.#again = true
      for (const tell of this.#changed) tell()
    }
  }

  #learn(answer: MetadataAnswer): void {
    if (answer.brokers.length > 0) this.#learnBrokers(answer)
    for (const topic of answer.topics) {
      if (topic.topic === null || !this.#wanted.has(topic.topic)) continue
      const old = this.#topics.get(topic.topic)
      let news = old?.topicId !== topic.topicId || old.error !== topic.error
      const leaders = new Map<number, Leader>()
      for (const p of topic.partitions) {
        if (p.leader < 0) continue
        const before = old?.topicId === topic.topicId ? old.leaders.get(p.partition) : undefined
        const newer = before && before.epoch > p.leaderEpoch ? before : { id: p.leader, epoch: p.leaderEpoch }
        leaders.set(p.partition, newer)
        if (before?.id !== newer.id || before.epoch !== newer.epoch) news = true
      }
      // The trouble that was asked about is over: the next one is asked about at once.
      if (news) this.#tries = 0
      this.#doubted.delete(topic.topic)
      this.#topics.set(topic.topic, { topicId: topic.topicId, error: topic.error, leaders })
    }
    for (const tell of this.#changed) tell()
  }

  #learnBrokers(answer: MetadataAnswer): void {
    const alive = new Set(answer.brokers.map(b => b.id))
    for (const broker of answer.brokers) {
      const old = this.#brokers.get(broker.id)
      if (old && old.host === broker.host && old.port === broker.port) continue
      this.#brokers.set(broker.id, { host: broker.host, port: broker.port, rack: broker.rack })
      this.#control.get(broker.id)?.close()
      this.#control.delete(broker.id)
    }
    for (const id of [...this.#brokers.keys()]) {
      if (alive.has(id)) continue
      this.#brokers.delete(id)
      this.#control.get(id)?.close()
      this.#control.delete(id)
    }
  }

  async #askBootstrap<Question, Answer>(
    api: Api<Question, Answer>,
    question: Question,
    before: unknown,
  ): Promise<Answer> {
    let last = before
    for (let i = 0; i < this.#bootstrap.length; i++) {
      const index = (this.#first?.index ?? this.#turn + i) % this.#bootstrap.length
      const address = this.#bootstrap[index] as Address
      this.#first ??= { link: this.#controlTo(() => this.#connect(address, 'control')), index, users: 0 }
      const first = this.#first
      first.users++
      let failed = true
      try {
        const answer = await first.link.ask(api, question)
        failed = false
        return answer
      } catch (error) {
        last = error
        if (error instanceof MillraceError && !error.retryable) throw error
      } finally {
        // The next caller takes the next address, or a broker by its number; who still waits here is not disturbed.
        first.users--
        if (this.#first === first && (failed || this.#brokers.size > 0)) this.#first = null
        if (this.#first !== first && first.users === 0) first.link.close()
      }
    }
    throw last ?? this.#unknown(-1)
  }

  #controlOf(broker: number): ControlLink {
    const there = this.#control.get(broker)
    if (there) return there
    const made = this.#controlTo(() => this.linkTo(broker, 'control'))
    this.#control.set(broker, made)
    return made
  }

  #controlTo(connect: () => Promise<Link>): ControlLink {
    return new ControlLink({ connect, clock: this.clock, chance: this.chance })
  }

  #reach(address: Address): Address {
    return this.#advertised.get(`${address.host}:${address.port}`) ?? { host: address.host, port: address.port }
  }

  #unknown(broker: number): MillraceError {
    const what = broker < 0 ? 'no broker is known' : `broker ${broker} is not known`
    return new MillraceError('kafka-unreachable', `${this.name}: ${what}`, { retryable: true })
  }
}
