import { Buffer } from 'node:buffer'
import type { Connect } from '../../../engine/adapters/kafka/cluster.ts'
import { incrementalAlterConfigsApi } from '../../../engine/adapters/kafka/frames/alterConfigs.ts'
import { apiVersionsApi } from '../../../engine/adapters/kafka/frames/apiVersions.ts'
import { fetchApi } from '../../../engine/adapters/kafka/frames/fetch.ts'
import { findCoordinatorApi } from '../../../engine/adapters/kafka/frames/findCoordinator.ts'
import { initProducerIdApi } from '../../../engine/adapters/kafka/frames/initProducerId.ts'
import { listOffsetsApi } from '../../../engine/adapters/kafka/frames/listOffsets.ts'
import { metadataApi } from '../../../engine/adapters/kafka/frames/metadata.ts'
import { offsetCommitApi } from '../../../engine/adapters/kafka/frames/offsetCommit.ts'
import { offsetFetchApi } from '../../../engine/adapters/kafka/frames/offsetFetch.ts'
import { produceApi } from '../../../engine/adapters/kafka/frames/produce.ts'
import { Link } from '../../../engine/adapters/kafka/link.ts'
import type { MemoryAccount } from '../../../engine/adapters/kafka/slab.ts'
import { Reader, Writer } from '../../../engine/adapters/kafka/wire.ts'
import { MillraceError } from '../../../engine/errors.ts'
import type { Part } from '../../../engine/ports/kafka.ts'
import type { ManualClock } from '../clock.ts'
import { answerAlterConfigs } from './answerAlterConfigs.ts'
import { answerFetch, fetchWaits, readFetch } from './answerFetch.ts'
import { answerCommit, answerCoordinator, answerOffsets } from './answerGroup.ts'
import { answerListOffsets, answerMetadata } from './answerMetadata.ts'
import { answerProduce } from './answerProduce.ts'
import type { FakeState } from './state.ts'
import { FakeWire } from './wire.ts'

/** A request as a broker gets it; `body` is behind the header. */
export type Request = { key: number; version: number; correlation: number; body: Reader }
/** An error for the next batch of a partition; `taken`: it is in the log all the same. */
export type ProduceFault = { part: Part; code: number; taken: boolean }

const apis = [
  apiVersionsApi,
  fetchApi,
  findCoordinatorApi,
  incrementalAlterConfigsApi,
  initProducerIdApi,
  listOffsetsApi,
  metadataApi,
  offsetCommitApi,
  offsetFetchApi,
  produceApi,
]
export const firstPort = 9000
const clientId = 'millrace'

/** The brokers of one cluster, in memory: they speak Kafka's frames over `FakeWire`, one request at a time a link. */
export class FakeBrokers {
  readonly state: FakeState
  readonly clock: ManualClock
  readonly latencyMs: number
  readonly produceFaults: ProduceFault[] = []
  readonly requests = new Map<string, number>()
  /** Fetches that were sent while a socket waited for memory: there must be none (W-31). */
  fetchesWhileWaiting = 0
  readonly #account: MemoryAccount
  readonly #caps: ReadonlyMap<number, number>
  readonly #connections = new Set<Connection>()
  readonly #down = new Set<number>()
  readonly #deaf = new Set<number>()
  readonly #held = new Set<{ broker: number; api: string | null; later: (() => void)[] }>()
  #loseNext: Part | null = null

  constructor(how: {
    state: FakeState
    clock: ManualClock
    account: MemoryAccount
    latencyMs?: number
    caps?: ReadonlyMap<number, number>
  }) {
    this.state = how.state
    this.clock = how.clock
    this.latencyMs = how.latencyMs ?? 1
    this.#account = how.account
    this.#caps = how.caps ?? new Map()
  }

  /** In the place of login and ApiVersions: a link that stands. */
  readonly connect: Connect = (address, purpose) =>
    new Promise((resolve, reject) => {
      const broker = address.port - firstPort
      this.clock.after(this.latencyMs, () => {
        const name = `${this.state.clusterId}: broker ${broker}`
        if (this.#down.has(broker)) {
          return reject(new MillraceError('kafka-unreachable', `${name}: nobody there`, { retryable: true }))
        }
        const connection = new Connection(broker, this, () => this.#connections.delete(connection))
        const account = purpose === 'fetch' ? this.#account : null
        const unsentBytes = () => connection.wire.unsentBytes
        const link = new Link(connection.wire, { name, clientId, clock: this.clock, account, unsentBytes })
        connection.wire.attach(link)
        link.agree(new Map(apis.map(api => [api.key, Math.min(api.max, this.#caps.get(api.key) ?? api.max)])))
        this.#connections.add(connection)
        resolve(link)
      })
    })

  /** Sockets that are not read, because their frame waits for memory. */
  get pausedSockets(): number {
    return [...this.#connections].filter(connection => connection.wire.paused).length
  }

  get connections(): number {
    return this.#connections.size
  }

  asked(api: string): number {
    return this.requests.get(api) ?? 0
  }

  /** Answers of a broker (to one API, or all) are kept back until the given function is called. */
  hold(broker: number, api: string | null): () => void {
    const held = { broker, api, later: [] as (() => void)[] }
    this.#held.add(held)
    return () => {
      this.#held.delete(held)
      for (const go of held.later.splice(0)) go()
    }
  }

  deafen(broker: number): { take(bytes: number): void; heal(): void } {
    this.#deaf.add(broker)
    const take = (bytes: number) => {
      for (const connection of [...this.#connections]) if (connection.broker === broker) connection.wire.take(bytes)
    }
    return {
      take,
      heal: () => {
        this.#deaf.delete(broker)
        take(Number.POSITIVE_INFINITY)
      },
    }
  }

  isDeaf(broker: number): boolean {
    return this.#deaf.has(broker)
  }

  /** In the turn in which a client writes. */
  noteWritten(key: number): void {
    if (key === fetchApi.key && this.#account.waiting > 0) this.fetchesWhileWaiting++
  }

  /** The next batch for `part` is taken, but its link is lost before the answer. */
  loseNext(part: Part): void {
    this.#loseNext = part
  }

  stop(broker: number): void {
    this.#down.add(broker)
    this.reset(broker)
  }

  start(broker: number): void {
    this.#down.delete(broker)
  }

  /** Closes every link to a broker. */
  reset(broker: number): void {
    for (const connection of [...this.#connections]) if (connection.broker === broker) connection.wire.lose()
  }

  /** Answers one request; `answer` is called with the body, at once or later. */
  serve(connection: Connection, request: Request, answer: (body: Buffer[]) => void): void {
    const api = apis.find(one => one.key === request.key)
    if (!api) throw new Error(`API ${request.key} is not played`)
    this.requests.set(api.name, this.asked(api.name) + 1)
    const send = (body: Buffer[]) => {
      const held = [...this.#held].find(h => h.broker === connection.broker && (h.api ?? api.name) === api.name)
      if (held) held.later.push(() => answer(body))
      else answer(body)
    }
    if (api === fetchApi) return this.#fetch(connection, request, send)
    if (api === produceApi) return this.#produce(connection, request, send)
    send(this.#simple(request))
  }

  #simple(request: Request): Buffer[] {
    switch (request.key) {
      case apiVersionsApi.key:
        return apiVersions()
      case incrementalAlterConfigsApi.key:
        return answerAlterConfigs(this.state, request)
      case initProducerIdApi.key:
        return new Writer().i32(0).i16(0).i64(this.state.producerId()).i16(0).tags().done()
      case listOffsetsApi.key:
        return answerListOffsets(this.state, request)
      case metadataApi.key:
        return answerMetadata(this.state, request, firstPort)
      case offsetCommitApi.key:
        return answerCommit(this.state, request)
      case offsetFetchApi.key:
        return answerOffsets(this.state, request)
      default:
        return answerCoordinator(request, firstPort)
    }
  }

  #produce(connection: Connection, request: Request, send: (body: Buffer[]) => void): void {
    const { body, parts } = answerProduce(this, connection.broker, request)
    const lost = this.#loseNext
    if (lost && parts.some(p => p.topic === lost.topic && p.partition === lost.partition)) {
      this.#loseNext = null
      return connection.wire.lose('the answer was lost')
    }
    send(body)
  }

  /** Waits for records, as long as the question allows (W-40). */
  #fetch(connection: Connection, request: Request, send: (body: Buffer[]) => void): void {
    const question = readFetch(request)
    const offs: (() => void)[] = []
    let answered = false
    const answer = () => {
      if (answered) return
      answered = true
      for (const off of offs.splice(0)) off()
      if (!connection.wire.closed) send(answerFetch(this.state, connection.broker, question))
    }
    if (!fetchWaits(this.state, connection.broker, question)) return answer()
    const look = () => {
      if (!fetchWaits(this.state, connection.broker, question)) answer()
    }
    offs.push(this.clock.after(question.maxWaitMs, answer), this.state.watch(look))
    for (const { topic, partitions } of question.topics) {
      for (const p of partitions) {
        const log = topic?.partitions[p.partition]?.log
        if (log) offs.push(log.watch(look))
      }
    }
  }
}

/** One link's end at the broker. */
class Connection {
  readonly broker: number
  readonly wire: FakeWire
  readonly #brokers: FakeBrokers
  readonly #waiting: Request[] = []
  #busy = false

  constructor(broker: number, brokers: FakeBrokers, onClosed: () => void) {
    this.broker = broker
    this.#brokers = brokers
    const isDeaf = () => brokers.isDeaf(broker)
    this.wire = new FakeWire({ onRequest: frame => this.#take(frame), onClosed, isDeaf })
  }

  #take(frame: Buffer): void {
    const clientIdBytes = Math.max(0, frame.readInt16BE(8))
    const body = new Reader(frame, 10 + clientIdBytes)
    body.tags()
    const [key, version, correlation] = [frame.readInt16BE(0), frame.readInt16BE(2), frame.readInt32BE(4)]
    this.#brokers.noteWritten(key)
    this.#waiting.push({ key, version, correlation, body })
    this.#next()
  }

  /** A broker reads the next request of a connection when it has answered the one before (W-20). */
  #next(): void {
    if (this.#busy) return
    const request = this.#waiting.shift()
    if (!request) return
    this.#busy = true
    this.#brokers.clock.after(this.#brokers.latencyMs, () => {
      if (this.wire.closed) return
      this.#brokers.serve(this, request, body => {
        this.wire.deliver(response(request, body))
        this.#busy = false
        this.#next()
      })
    })
  }
}

function response(request: Request, body: Buffer[]): Buffer {
  const tags = request.key === apiVersionsApi.key ? 0 : 1
  const head = Buffer.alloc(8 + tags)
  const all = Buffer.concat([head, ...body])
  all.writeInt32BE(all.length - 4, 0)
  all.writeInt32BE(request.correlation, 4)
  return all
}

function apiVersions(): Buffer[] {
  const w = new Writer().i16(0)
  w.array(apis, api => {
    w.i16(api.key).i16(api.min).i16(api.max).tags()
  })
  return w.i32(0).tags().done()
}
