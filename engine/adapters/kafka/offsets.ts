import { MillraceError } from '../../errors.ts'
import { missingRight } from '../../flow/missingRight.ts'
import { pause } from '../../flow/pause.ts'
import {
  backOffMs,
  commitJoinMs,
  commitPartitionsMax,
  linkBackOff,
  mayWriteAgainMs,
  unitBackOff,
} from '../../limits.ts'
import type { CheckpointStore, Entry, Part } from '../../ports/kafka.ts'
import type { Cluster } from './cluster.ts'
import { Coordinators, groupDenied } from './coordinators.ts'
import { classify } from './decide/classify.ts'
import { type CommitTopic, offsetCommitApi } from './frames/offsetCommit.ts'
import { type OffsetFetchAnswer, offsetFetchApi } from './frames/offsetFetch.ts'

/** Of one `save` that is tried again: how often, and how many partitions a request may hold. */
type Round = { tries: number; size: { partitionsMax: number } }
type Refused = { part: Part; code: string }
type Waiting = {
  entries: Map<string, Entry>
  mayWrite: () => boolean
  signal: AbortSignal
  refused: Refused[]
  done: (refused: Refused[]) => void
  fail: (reason: unknown) => void
}

/** Offsets of groups without members (KAFKA-CLIENT W-62, W-75). */
export class Offsets implements CheckpointStore {
  readonly #cluster: Cluster
  readonly #coordinators: Coordinators
  readonly #gathering = new Map<string, Waiting[]>()
  /** OffsetCommit requests answered so far. */
  commits = 0

  constructor(cluster: Cluster) {
    this.#cluster = cluster
    this.#coordinators = new Coordinators(cluster)
  }

  async load(group: string, parts: Part[] | 'all', signal: AbortSignal): Promise<Entry[]> {
    for (let tries = 1; ; tries++) {
      signal.throwIfAborted()
      const found = await orAborted(
        this.#loadOnce(group, parts).catch((error: unknown) => {
          if (error instanceof MillraceError && !error.retryable) throw error
          return null
        }),
        signal,
      )
      if (found) return found
      await pause(this.#cluster.clock, backOffMs(linkBackOff, tries, this.#cluster.chance), signal)
      signal.throwIfAborted()
    }
  }

  save(group: string, entries: Entry[], mayWrite: () => boolean, signal: AbortSignal): Promise<Refused[]> {
    if (group === '') return Promise.reject(new RangeError('a group needs a name: brokers take an empty one'))
    if (signal.aborted) return Promise.reject(signal.reason)
    if (entries.length === 0) return Promise.resolve([])
    const saved = new Promise<Refused[]>((done, fail) => {
      const waiting: Waiting = {
        entries: new Map(entries.map(entry => [`${entry.topic}/${entry.partition}`, entry])),
        mayWrite,
        signal,
        refused: [],
        done,
        fail,
      }
      const gathered = this.#gathering.get(group)
      if (gathered) return gathered.push(waiting)
      this.#gathering.set(group, [waiting])
      this.#cluster.clock.after(commitJoinMs, () => {
        const all = this.#gathering.get(group) ?? []
        this.#gathering.delete(group)
        void this.#commitAll(group, all)
      })
      return undefined
    })
    return orAborted(saved, signal)
  }

  /** Tries until everything is stored or refused; who has given up is left out. */
  async #commitAll(group: string, all: Waiting[]): Promise<void> {
    let open = all
    // Halved by 28: a request whose records pass the broker's limit is refused whole (§5).
    const size = { partitionsMax: commitPartitionsMax }
    for (let tries = 1; ; tries++) {
      open = open.filter(waiting => {
        if (waiting.entries.size === 0) waiting.done(waiting.refused)
        else if (waiting.signal.aborted) waiting.fail(waiting.signal.reason)
        else return true
        return false
      })
      if (open.length === 0) return
      const may = open.filter(waiting => waiting.mayWrite())
      const wait = may.length === 0 ? mayWriteAgainMs : await this.#commitOnce(group, may, { tries, size })
      if (wait > 0) await pause(this.#cluster.clock, wait, AbortSignal.any(open.map(waiting => waiting.signal)))
    }
  }

  /** One round of requests; gives how long to wait before the next. */
  async #commitOnce(group: string, waiting: Waiting[], round: Round): Promise<number> {
    const entries = new Map<string, Entry>()
    for (const w of waiting) for (const [key, entry] of w.entries) entries.set(key, entry)
    let wait = 0
    for (const some of chunks([...entries.values()], round.size.partitionsMax)) {
      wait = Math.max(wait, await this.#commitSome(group, some, waiting, round))
    }
    return wait
  }

  async #commitSome(group: string, entries: Entry[], waiting: Waiting[], round: Round): Promise<number> {
    const again = backOffMs(linkBackOff, round.tries, this.#cluster.chance)
    try {
      const broker = await this.#coordinators.of(group)
      const question = { group, topics: byTopic(entries) }
      const mayWrite = () => waiting.every(w => !w.signal.aborted && w.mayWrite())
      const answer = await this.#cluster.askBroker(broker, offsetCommitApi, question, mayWrite)
      this.commits++
      let wait = 0
      let halve = false
      for (const { topic, partitions } of answer.topics) {
        for (const { partition, error } of partitions) {
          if (classify('offsets', error) === 'halve') halve = true
          wait = Math.max(wait, this.#took(group, { topic, partition }, error, waiting, round.tries))
        }
      }
      if (halve) round.size.partitionsMax = Math.max(1, Math.ceil(entries.length / 2))
      return wait
    } catch (error) {
      this.#coordinators.forget(group)
      if (!(error instanceof MillraceError) || error.retryable) return again
      for (const entry of entries) refuse(waiting, entry, error.code)
      return 0
    }
  }

  #took(group: string, part: Part, error: number, waiting: Waiting[], tries: number): number {
    const key = `${part.topic}/${part.partition}`
    switch (classify('offsets', error)) {
      case 'ok':
        for (const w of waiting) w.entries.delete(key)
        return 0
      case 'metadata-too-large':
        for (const w of waiting) {
          const entry = w.entries.get(key)
          if (entry) w.entries.set(key, { ...entry, metadata: '' })
        }
        return 0
      case 'group-in-use':
        refuse(waiting, part, 'group-in-use')
        return 0
      case 'missing':
        refuse(waiting, part, 'source-missing')
        return 0
      case 'wait':
        refuse(waiting, part, 'kafka-not-authorized')
        return 0
      case 'coordinator':
        this.#coordinators.forget(group)
        return backOffMs(linkBackOff, tries, this.#cluster.chance)
      case 'again':
      case 'halve':
        return backOffMs(linkBackOff, tries, this.#cluster.chance)
      default:
        return backOffMs(unitBackOff, tries, this.#cluster.chance)
    }
  }

  /** Null: to be tried again. */
  async #loadOnce(group: string, parts: Part[] | 'all'): Promise<Entry[] | null> {
    const broker = await this.#coordinators.of(group)
    const topics = parts === 'all' ? null : namesOf(parts)
    const question = { groups: [{ group, topics }], requireStable: true }
    let answer: OffsetFetchAnswer
    try {
      answer = await this.#cluster.askBroker(broker, offsetFetchApi, question)
    } catch (error) {
      this.#coordinators.forget(group)
      throw error
    }
    const found = answer.groups[0]
    if (!found) return null
    if (found.error !== 0) {
      this.#coordinators.forget(group)
      if (found.error === 30) throw groupDenied(this.#cluster.name, group)
      return null
    }
    const entries: Entry[] = []
    for (const topic of found.topics) {
      for (const p of topic.partitions) {
        if (p.error === 29) throw this.#topicDenied(group, topic.topic)
        if (p.error === 30) throw groupDenied(this.#cluster.name, group)
        if (p.error !== 0 && classify('offsets', p.error) !== 'missing') return null
        if (p.error !== 0 || p.offset < 0n) continue
        const { partition, offset, leaderEpoch: epoch } = p
        entries.push({ topic: topic.topic, partition, offset, epoch, metadata: p.metadata ?? '' })
      }
    }
    return entries
  }

  #topicDenied(group: string, topic: string): MillraceError {
    const message = `${this.#cluster.name}: the offsets of topic ${topic} in group ${group} may not be read`
    return new MillraceError('kafka-not-authorized', message, {
      kafka: 29,
      hint: missingRight(`Read on topic ${topic}`),
    })
  }
}

/** A broker that does not answer may hold `work` for half a minute: the caller's signal ends its wait at once. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stopped = () => reject(signal.reason)
    signal.addEventListener('abort', stopped, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stopped))
  })
}

function refuse(waiting: Waiting[], part: Part, code: string): void {
  for (const w of waiting) {
    if (!w.entries.delete(`${part.topic}/${part.partition}`)) continue
    w.refused.push({ part: { topic: part.topic, partition: part.partition }, code })
  }
}

function chunks<T>(items: T[], size: number): T[][] {
  const out: T[][] = []
  for (let from = 0; from < items.length; from += size) out.push(items.slice(from, from + size))
  return out
}

function byTopic(entries: Entry[]): CommitTopic[] {
  const topics = new Map<string, CommitTopic>()
  for (const { topic, partition, offset, epoch, metadata } of entries) {
    const there = topics.get(topic) ?? { topic, partitions: [] }
    there.partitions.push({ partition, offset, leaderEpoch: epoch, metadata })
    topics.set(topic, there)
  }
  return [...topics.values()]
}

function namesOf(parts: Part[]): { topic: string; partitions: number[] }[] {
  const topics = new Map<string, number[]>()
  for (const { topic, partition } of parts) topics.set(topic, [...(topics.get(topic) ?? []), partition])
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }))
}
