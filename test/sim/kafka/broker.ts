import type { Network, Wire } from '../network.ts'
import type { World } from '../world.ts'

/** Who has sent a request, to be asked when it arrives. */
export type Sender = {
  by: string
  /** Dead, fenced, or its connection given up: what it sent before may still arrive (C-11). */
  isPast(): boolean
}

export type KafkaRequest =
  | { ask: 'list'; flow: string }
  | { ask: 'load'; unit: string }
  | { ask: 'fetch'; at: readonly (readonly [unit: string, offset: number])[] }
  | { ask: 'produce'; unit: string; from: number; to: number; epoch: number | null }
  | { ask: 'commit'; entries: readonly (readonly [unit: string, offset: number])[] }
  | { ask: 'init'; unit: string }
  | { ask: 'end'; unit: string; epoch: number; offset: number }

export type Framed = { id: number; request: KafkaRequest; sender: Sender }
export type KafkaAnswer = { id: number; value: unknown }
export type Listed = { topics: Map<string, number>; stored: Set<string> }
/** What a producer of another epoch is told, and what a refused write is. */
export type KafkaRefusal = { refused: 'fenced' | 'denied' }

/** One partition at the source and at the destination. */
export type UnitLog = {
  name: string
  flow: string
  exactlyOnce: boolean
  bornMs: number
  /** A batch each so many ms. */
  everyMs: number
  checkpoint: number | null
  producerEpoch: number
  open: { from: number; to: number; by: string }[]
  /** By offset, who brought it first, and when. */
  there: Map<number, { by: string; atMs: number }>
  /** Everything below is at the destination. */
  low: number
}

export type BrokerEvents = {
  appended(unit: UnitLog, offset: number, by: string, before: { by: string; atMs: number } | null): void
  committed(unit: UnitLog, before: number | null, sender: Sender): void
}

export type Broker = {
  units: ReadonlyMap<string, UnitLog>
  /** Offsets that the source has. */
  end(unit: UnitLog): number
  addTopic(flow: string, topic: string, partitions: number, how: { exactlyOnce: boolean; everyMs: number }): void
  /** How long a request lies there before it is done. */
  serve: { fromMs: number; toMs: number }
  /** Commits of starts are refused. */
  deniesStarts: boolean
}

const denied: KafkaRefusal = { refused: 'denied' }
/** Two clusters, with connections of their own: what goes to one may overtake what goes to the other. */
export const clusters = ['source', 'destination'] as const
export type ClusterName = (typeof clusters)[number]
const fetchWaitMs = 500
const fetchedMax = 4

export function makeBroker(world: World, network: Network, on: BrokerEvents): Broker {
  const units = new Map<string, UnitLog>()
  const broker: Broker = {
    units,
    end: unit => Math.floor((world.nowMs() - unit.bornMs) / unit.everyMs),
    serve: { fromMs: 0, toMs: 0 },
    deniesStarts: false,
    addTopic(flow, topic, partitions, { exactlyOnce, everyMs }) {
      for (let n = 0; n < partitions; n++) {
        const name = `${flow}/${topic}/${n}`
        if (units.has(name)) continue
        units.set(name, {
          ...{ name, flow, exactlyOnce, everyMs: everyMs * world.spanMs(0.7, 1.3), bornMs: world.nowMs() },
          ...{ checkpoint: null, producerEpoch: 0, open: [], there: new Map(), low: 0 },
        })
      }
    },
  }
  const unitOf = (name: string) => units.get(name) as UnitLog

  function append(unit: UnitLog, from: number, to: number, by: string): void {
    for (let offset = from; offset < to; offset++) {
      const before = unit.there.get(offset) ?? null
      unit.there.set(offset, { by, atMs: world.nowMs() })
      on.appended(unit, offset, by, before)
    }
    while (unit.there.has(unit.low)) unit.low++
  }

  function store(unit: UnitLog, offset: number, sender: Sender): void {
    const before = unit.checkpoint
    unit.checkpoint = offset
    on.committed(unit, before, sender)
  }

  /** Undefined: answered later. */
  function serve(request: KafkaRequest, sender: Sender): unknown {
    if (request.ask === 'list') return listed(request.flow)
    if (request.ask === 'load') return unitOf(request.unit).checkpoint
    if (request.ask === 'init') {
      const unit = unitOf(request.unit)
      unit.open = []
      return { epoch: ++unit.producerEpoch, checkpoint: unit.checkpoint }
    }
    if (request.ask === 'commit') {
      if (broker.deniesStarts && request.entries.every(([name]) => unitOf(name).checkpoint === null)) return denied
      for (const [name, offset] of request.entries) store(unitOf(name), offset, sender)
      return null
    }
    if (request.ask === 'produce') return produced(request, sender)
    if (request.ask === 'end') return ended(request, sender)
    return undefined
  }

  function produced(
    { unit: name, from, to, epoch }: KafkaRequest & { ask: 'produce' },
    { by }: Sender,
  ): KafkaRefusal | null {
    const unit = unitOf(name)
    if (epoch === null) append(unit, from, to, by)
    else if (epoch !== unit.producerEpoch) return { refused: 'fenced' }
    else unit.open.push({ from, to, by })
    return null
  }

  /** The transaction becomes visible with its checkpoint, or not at all. */
  function ended({ unit: name, epoch, offset }: KafkaRequest & { ask: 'end' }, sender: Sender): KafkaRefusal | null {
    const unit = unitOf(name)
    if (epoch !== unit.producerEpoch) return { refused: 'fenced' }
    if (broker.deniesStarts && unit.checkpoint === null) return denied
    for (const { from, to, by } of unit.open) append(unit, from, to, by)
    unit.open = []
    store(unit, offset, sender)
    return null
  }

  function listed(flow: string): Listed {
    const topics = new Map<string, number>()
    const stored = new Set<string>()
    for (const unit of units.values()) {
      if (unit.flow !== flow) continue
      const [, topic = ''] = unit.name.split('/')
      topics.set(topic, (topics.get(topic) ?? 0) + 1)
      if (unit.checkpoint !== null) stored.add(unit.name.slice(flow.length + 1))
    }
    return { topics, stored }
  }

  function fetched(at: (KafkaRequest & { ask: 'fetch' })['at']): [string, number][] {
    const found: [string, number][] = []
    for (const [name, offset] of at) {
      const end = broker.end(unitOf(name))
      if (end > offset) found.push([name, Math.min(end, offset + fetchedMax)])
    }
    return found
  }

  /** Waits for the first that comes, as a broker does. */
  function answerFetch(wire: Wire, id: number, at: (KafkaRequest & { ask: 'fetch' })['at'], untilMs: number): void {
    const found = fetched(at)
    if (found.length > 0 || world.nowMs() >= untilMs) return wire.send({ id, value: found } satisfies KafkaAnswer)
    let nextMs = untilMs
    for (const [name, offset] of at) {
      const unit = unitOf(name)
      nextMs = Math.min(nextMs, unit.bornMs + (offset + 1) * unit.everyMs + 0.001)
    }
    world.at(nextMs, () => wire.isOpen() && answerFetch(wire, id, at, untilMs))
  }

  function accept(wire: Wire): void {
    let lastMs = 0
    const handle = ({ id, request, sender }: Framed) => {
      if (request.ask === 'fetch') return answerFetch(wire, id, request.at, world.nowMs() + fetchWaitMs)
      const value = serve(request, sender)
      wire.send({ id, value } satisfies KafkaAnswer)
    }
    wire.on.messages = messages => {
      const { fromMs, toMs } = broker.serve
      const all = () => {
        for (const message of messages) handle(message as Framed)
      }
      if (toMs === 0 && lastMs <= world.nowMs()) return all()
      lastMs = Math.max(lastMs, world.nowMs() + world.spanMs(fromMs, toMs))
      world.at(lastMs, all)
      return undefined
    }
  }

  for (const cluster of clusters) network.listen(cluster, accept)
  return broker
}
