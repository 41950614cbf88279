import type { HeldDoc } from '../../../engine/fleet/decide/documents/held.ts'
import { type Drain, noWishes, type WishesDoc } from '../../../engine/fleet/decide/documents/wishes.ts'
import type { WorkerDoc } from '../../../engine/fleet/decide/documents/worker.ts'
import { type Memory, newMemory } from '../../../engine/fleet/decide/memory.ts'
import type { Assigned, Held, Observed, SeenDoc, SeenFlow, SeenWorker } from '../../../engine/fleet/decide/observed.ts'
import { decodeRanges, encodeRanges } from '../../../engine/fleet/decide/ranges.ts'
import { type Notice, type Reconciled, reconcile } from '../../../engine/fleet/decide/reconcile.ts'
import { unitsOf } from '../../../engine/fleet/decide/units.ts'
import type { AssignmentWrite, Writes } from '../../../engine/fleet/decide/writesOf.ts'
import { noOverlay } from '../../../engine/flow/overlay.ts'

/** A fleet on paper: what a script says happens to it, what the leader reads of it, and what it writes. */
export type Paper = ReturnType<typeof paperFleet>

export function paperFleet() {
  const paper = {
    nowMs: 0,
    answeredSinceMs: 0,
    memory: newMemory(1, 0) as Memory,
    workers: new Map<string, SeenWorker & { doc: WorkerDoc | null }>(),
    assignments: new Map<string, SeenDoc<Assigned>>(),
    helds: new Map<string, SeenDoc<Held>>(),
    flows: new Map<string, SeenFlow>(),
    weights: new Map<string, number>(),
    stuck: new Set<string>(),
    doubtful: new Set<string>(),
    wishes: noWishes as WishesDoc,
    alive: new Set<string>(),
    made: 0,
    last: null as Reconciled | null,
  }

  function observed(): Observed {
    const { answeredSinceMs, wishes } = paper
    return {
      ...{ answeredSinceMs, sessionMs: 10_000, wishes },
      workers: new Map(paper.workers),
      assignments: new Map(paper.assignments),
      helds: new Map(paper.helds),
      flows: new Map(paper.flows),
      stuck: new Set(paper.stuck),
      doubtful: new Set(paper.doubtful),
      weightOf: unit => paper.weights.get(unit) ?? 4_096,
    }
  }

  /** The write stands, as the coordinator would have it. */
  function apply(writes: Writes): void {
    const put = ({ id, units, specs }: AssignmentWrite) => {
      const version = (paper.assignments.get(id)?.version ?? -1) + 1
      const { epoch, generation } = writes
      paper.assignments.set(id, { version, doc: { epoch, generation, units: new Set(units), specs, chunks: 0 } })
    }
    for (const { id, assignment } of writes.takeovers) {
      paper.workers.delete(id)
      paper.alive.delete(id)
      put(assignment)
      setHeld(id, { epoch: writes.epoch, generation: writes.generation, units: new Set(), state: 'left', errors: [] })
    }
    for (const one of writes.assignments) put(one)
    for (const { id } of writes.ejects) {
      paper.workers.delete(id)
      paper.alive.delete(id)
    }
    for (const id of writes.garbage) {
      paper.assignments.delete(id)
      paper.helds.delete(id)
    }
    if (writes.wishes) paper.wishes = writes.wishes
  }

  function setHeld(id: string, doc: Held): void {
    paper.helds.set(id, { version: (paper.helds.get(id)?.version ?? -1) + 1, doc })
  }

  function round(isWritten: boolean): string[] {
    const view = observed()
    const found = reconcile(paper.memory, view, paper.nowMs)
    paper.memory = found.memory
    paper.last = found
    if (found.writes && isWritten) apply(found.writes)
    const lines = found.writes ? told(found.writes) : []
    return [...lines, ...found.notices.flatMap(noticeOf), `${found.plan.why}, again at ${found.againAtMs}`]
  }

  return Object.assign(paper, { observed, apply, setHeld, round })
}

function told({ epoch, generation, takeovers, assignments, ejects, wishes, garbage }: Writes): string[] {
  const doc = ({ id, units }: AssignmentWrite) => `${id} = ${shown(units)} (${epoch}.${generation})`
  return [
    ...takeovers.map(one => `take over ${one.node === null ? '' : `node ${one.node}, `}${doc(one.assignment)}`),
    ...assignments.map(doc),
    ...ejects.map(({ id, version }) => `delete node ${id} at ${version}`),
    ...garbage.map(id => `forget ${id}`),
    ...(wishes ? [`wishes: ${wishText(wishes)}`] : []),
  ]
}

function noticeOf(notice: Notice): string[] {
  if (notice.code === 'units-moved') return [`${notice.reason} ${shown(notice.units)}`]
  if (notice.code === 'release-slow') return [`${notice.worker} holds ${shown(notice.units)} for ${notice.forMs} ms`]
  if (notice.code === 'worker-ejected') return [`${notice.worker} is ejected: ${notice.why}`]
  return [`${notice.worker} is quarantined until ${notice.untilMs}`]
}

function wishText({ auto, drains, moves, rebalance }: WishesDoc): string {
  const words = [...drains.keys()].map(id => `drain ${id}`).concat([...moves].map(([unit, id]) => `${unit} to ${id}`))
  return [auto ? 'auto' : 'auto off', `rebalance ${rebalance}`, ...words].join(', ')
}

export function shown(units: Iterable<string>): string {
  const texts = [...unitsOf(units)].flatMap(([flow, parts]) =>
    [...parts].map(([part, numbers]) => `${flow}/${part}/${encodeRanges(numbers)}`),
  )
  return texts.sort().join(' ') || '-'
}

/** `f/t/0-2,5` → the names of these units. */
function unitsIn(words: readonly string[]): string[] {
  return words.flatMap(word => {
    const slash = word.lastIndexOf('/')
    return decodeRanges(word.slice(slash + 1)).map(n => `${word.slice(0, slash)}/${n}`)
  })
}

/** Carries out one line of a script; gives what it shows. */
export function command(paper: Paper, line: string): string[] {
  const [verb = '', first = '', ...rest] = line.split(/\s+/)
  const does = verbs[verb]
  if (!does) throw new Error(`no command ${verb}`)
  const shownNow = does(paper, first, rest)
  return Array.isArray(shownNow) ? shownNow : []
}

type Verb = (paper: Paper, first: string, rest: string[]) => unknown

const verbs: Record<string, Verb> = {
  /** `office 7`: a new leader, with no memory. */
  office(paper, epoch) {
    paper.memory = newMemory(Number(epoch), paper.nowMs)
  },
  /** `worker a capacity=500 tags=x state=stopping`: a new node, and a report without units. */
  worker(paper, id, rest) {
    register(paper, id, rest)
    const held = paper.helds.get(id)?.doc
    const { epoch, generation } = held ?? { epoch: 0, generation: 0 }
    paper.setHeld(id, { epoch, generation, units: new Set(), state: 'running', errors: [] })
  },
  /** Its own record changes, which is a beat. */
  record(paper, id, rest) {
    const node = paper.workers.get(id)
    if (!node?.doc) throw new Error(`no worker ${id}`)
    Object.assign(node, { version: node.version + 1, atMs: paper.nowMs })
    node.doc = { ...node.doc, ...optionsOf(rest) }
  },
  unreadable(paper, first) {
    const [what = '', id = ''] = first.split(':')
    if (what === 'worker') Object.assign(paper.workers.get(id) ?? {}, { doc: null })
    if (what === 'held') Object.assign(paper.helds.get(id) ?? {}, { doc: null })
    if (what === 'assignment')
      paper.assignments.set(id, { version: paper.assignments.get(id)?.version ?? 0, doc: null })
  },
  /** They beat in each `pass` from now on; `silent` ends it. */
  silent: (paper, id) => void paper.alive.delete(id),
  gone(paper, id) {
    paper.workers.delete(id)
    paper.alive.delete(id)
  },
  pass(paper, ms) {
    for (const id of paper.alive) {
      const node = paper.workers.get(id)
      if (node) Object.assign(node, { version: node.version + 1, atMs: paper.nowMs + Number(ms) })
    }
    paper.nowMs += Number(ms)
  },
  /** `accept a`, `accept a but f/t/0`: it has taken its document, and still runs these besides. */
  accept(paper, id, rest) {
    const doc = paper.assignments.get(id)?.doc
    if (!doc) throw new Error(`no document for ${id}`)
    const units = new Set([...doc.units, ...unitsIn(rest.slice(1))])
    const state = paper.workers.get(id)?.doc?.state === 'stopping' ? 'stopping' : 'running'
    paper.setHeld(id, { ...doc, units, state, errors: [] })
  },
  /** `held a 1.3 left f/t/0`. */
  held(paper, id, [at = '0.0', state = 'running', ...units]) {
    const [epoch = 0, generation = 0] = at.split('.').map(Number)
    paper.setHeld(id, {
      epoch,
      generation,
      units: new Set(unitsIn(units)),
      state: state as HeldDoc['state'],
      errors: [],
    })
  },
  /** `assigned a 1.3 f/t/0`: what a leader before this one wrote. */
  assigned(paper, id, [at = '1.1', ...units]) {
    const [epoch = 0, generation = 0] = at.split('.').map(Number)
    const doc = { epoch, generation, units: new Set(unitsIn(units)), specs: new Map(), chunks: 0 }
    paper.assignments.set(id, { version: 0, doc })
  },
  /** `flow f t/0-2 u/0`, `flow f ?`: nobody has looked at it. */
  flow(paper, name, rest) {
    const before = paper.flows.get(name)
    const [last = 0] = [before?.lookedAt]
    const found = rest.includes('?')
      ? null
      : unitsIn(rest.filter(word => word.includes('/')).map(word => `${name}/${word}`))
    const { tags } = optionsOf(rest)
    paper.flows.set(name, {
      ...{
        tag: before?.tag ?? '1',
        overlay: before?.overlay ?? noOverlay,
        deleting: false,
        reserved: new Set<string>(),
      },
      requires: tags ?? [],
      units: found && new Map(found.map(unit => [unit, { weight: 1, movable: !rest.includes('fixed'), requires: [] }])),
      ...{ looksBegun: last + 1, lookedAt: last + 1 },
    })
  },
  tag: (paper, flow, [tag = '']) => void Object.assign(paper.flows.get(flow) ?? {}, { tag }),
  unflow: (paper, flow) => void paper.flows.delete(flow),
  pause(paper, flow, parts) {
    const paused = new Map(
      [...(unitsOf(unitsIn(parts.map(part => `${flow}/${part}`))).get(flow) ?? [])].map(([t, ns]) => [t, new Set(ns)]),
    )
    Object.assign(paper.flows.get(flow) ?? {}, { overlay: { ...noOverlay, paused: parts.length === 0 ? '*' : paused } })
  },
  resume: (paper, flow) => void Object.assign(paper.flows.get(flow) ?? {}, { overlay: noOverlay }),
  reserve: (paper, flow, units) =>
    void Object.assign(paper.flows.get(flow) ?? {}, { reserved: new Set(unitsIn(units)) }),
  weigh(paper, weight, units) {
    for (const unit of unitsIn(units)) paper.weights.set(unit, Number(weight))
  },
  stuck: (paper, first, rest) => {
    paper.stuck = new Set(unitsIn([first, ...rest].filter(Boolean)))
  },
  drain(paper, id) {
    const drain: Drain = { atMs: 0, by: 'me', reason: 'api' }
    paper.wishes = { ...paper.wishes, drains: new Map([...paper.wishes.drains, [id, drain]]) }
  },
  undrain(paper, id) {
    paper.wishes = { ...paper.wishes, drains: new Map([...paper.wishes.drains].filter(([one]) => one !== id)) }
  },
  move: (paper, unit, [to = '']) => {
    paper.wishes = { ...paper.wishes, moves: new Map([...paper.wishes.moves, [unit, to]]) }
  },
  rebalance: paper => {
    paper.wishes = { ...paper.wishes, rebalance: paper.wishes.rebalance + 1 }
  },
  auto: (paper, word) => {
    paper.wishes = { ...paper.wishes, auto: word === 'on' }
  },
  /** A write of these documents was not answered. */
  doubt(paper, first, rest) {
    paper.doubtful = new Set([first, ...rest].filter(Boolean))
  },
  /** The leader itself was not answered until now. */
  answered: paper => {
    paper.answeredSinceMs = paper.nowMs
  },
  round: (paper, word) => paper.round(word !== 'unwritten'),
  plan: paper => [
    ...(paper.last?.plan.unplaced ?? []).map(({ id, why }) => `${id} is unplaced: ${why}`),
    ...[...(paper.last?.waiting ?? [])].map(([unit, from]) => `${unit} waits for ${from}`),
  ],
}

function optionsOf(words: readonly string[]): Partial<WorkerDoc> {
  const found: Partial<WorkerDoc> = {}
  for (const word of words) {
    const [name, value = ''] = word.split('=')
    if (name === 'capacity' || name === 'unitsMax') found[name] = Number(value)
    if (name === 'tags') found.tags = value.split(',')
    if (name === 'state') found.state = value as WorkerDoc['state']
  }
  return found
}

function register(paper: Paper, id: string, rest: readonly string[]): void {
  const doc: WorkerDoc = {
    ...{ id, address: null, capacity: 1000, leaseMs: 7_000, revision: '', software: '', startedAtMs: 0 },
    ...{ state: 'ready', tags: [], task: '', unitsMax: 20_000 },
    ...optionsOf(rest),
  }
  paper.workers.set(id, { version: 0, atMs: paper.nowMs, created: String(++paper.made), doc })
  paper.alive.add(id)
}
