import { readAssignment } from '../../engine/fleet/decide/documents/assignment.ts'
import { joinChunks, readChunk } from '../../engine/fleet/decide/documents/chunks.ts'
import { readEpoch } from '../../engine/fleet/decide/documents/epoch.ts'
import { readHeld } from '../../engine/fleet/decide/documents/held.ts'
import { chunkName, paths } from '../../engine/fleet/decide/documents/paths.ts'
import { leaseTimes } from '../../engine/fleet/decide/lease.ts'
import { namesOf } from '../../engine/fleet/decide/units.ts'
import type { Excuses } from './excuses.ts'
import type { BrokerEvents, Sender, UnitLog } from './kafka/broker.ts'
import type { KindEvents } from './kind.ts'
import type { World } from './world.ts'
import type { Ensemble, Txn } from './zookeeper/ensemble.ts'
import type { Change } from './zookeeper/tree.ts'

/** What the invariants ask of a process. */
export type Suspect = {
  id: string
  isAlive(): boolean
  lease(): 'open' | 'closing' | 'fenced'
  /** Asked between turns of its code. */
  isFenced(): boolean
  /** The newest assignment that it has taken. */
  accepted(): { epoch: number; generation: number }
}

/** An invariant that does not hold (C-112). */
export class Violation extends Error {
  readonly invariant: string
  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`)
    this.invariant = invariant
  }
}

export type Invariants = BrokerEvents & {
  /** Of one process: what its kind of flow tells. */
  kindEvents(who: Suspect): KindEvents
  died(id: string): void
  /** Who runs a unit now, its lease not over. */
  runs(unit: string): string[]
  /** In which document a unit stands. */
  assigned(unit: string): string | null
  /** Of writes that a round of the leader has made: the last one. */
  lastRoundMs(): number
  /** Who took office last, and when. */
  officer(): { host: string; sinceMs: number }
  lastBeatMs(id: string): number
  /** A beat of this process was answered. */
  beatAnswered(id: string): void
  /** Units whose checkpoint a late request has lowered, and no owner has buried it since (C-11). */
  lowered(): string[]
}

/** Clocks of two processes differ by less than this: what one counts in full is at least so much for us. */
const rateMax = 1.031

export function watchInvariants(world: World, ensemble: Ensemble, excuses: Excuses, sessionMs: number): Invariants {
  const running = new Map<string, Map<Suspect, number>>()
  const contested = new Set<string>()
  const documents = documentsOf(world, ensemble, sessionMs)
  ensemble.onCommit(documents.committed)

  function count(unit: string, who: Suspect, by: 1 | -1): void {
    const of = running.get(unit) ?? new Map<Suspect, number>()
    running.set(unit, of)
    const next = (of.get(who) ?? 0) + by
    if (next > 0) of.set(who, next)
    else of.delete(who)
    if (of.size > 1) contested.add(unit)
    else contested.delete(unit)
  }

  const actors = (unit: string) =>
    [...(running.get(unit)?.keys() ?? [])].filter(one => one.isAlive() && !one.isFenced()).map(one => one.id)

  /** I1. */
  world.afterEach(() => {
    for (const unit of contested) {
      const ids = actors(unit)
      if (ids.length > 1)
        throw new Violation('I1', `${unit} runs on ${ids.join(' and ')}, the lease of both is not over`)
    }
  })

  return {
    ...kafkaInvariants(world, excuses),
    runs: actors,
    assigned: documents.assigned,
    lastRoundMs: documents.lastRoundMs,
    officer: documents.epoch,
    lastBeatMs: documents.lastBeatMs,
    beatAnswered: documents.beatAnswered,
    died(id) {
      for (const [unit, of] of running) {
        for (const who of of.keys()) if (who.id === id) of.delete(who)
        if (of.size < 2) contested.delete(unit)
      }
    },
    kindEvents: who => ({
      began(unit) {
        world.note(`${who.id} begins ${unit}`)
        if (orderOf(who.accepted()) === documents.keptOrder(who.id))
          throw new Violation(
            'I3',
            `${who.id} begins ${unit} by a document that it had before it registered anew (C-12)`,
          )
        count(unit, who, 1)
      },
      ended(unit) {
        world.note(`${who.id} ends ${unit}`)
        count(unit, who, -1)
      },
      sends(what, units) {
        const lease = who.lease()
        if (lease !== 'open' && (what === 'produce' || lease === 'fenced'))
          throw new Violation('I1', `${who.id} sends a ${what} of ${units.join(' ')}, its lease is ${lease} (C-6)`)
      },
      performs(flow, epoch, units) {
        const now = documents.epoch()
        world.note(`${who.id} performs starts of ${flow} in epoch ${epoch}: ${units.join(' ')}`)
        if (epoch !== now.epoch)
          throw new Violation('I4', `${who.id} begins a chore in epoch ${epoch}, it is ${now.epoch}`)
        for (const unit of units) {
          const ids = actors(`${flow}/${unit}`)
          if (ids.length > 0)
            throw new Violation('I4', `${who.id} fixes the start of ${unit}, which runs on ${ids[0]} (C-95)`)
        }
      },
    }),
  }
}

/** I5, I6, I7. */
function kafkaInvariants(world: World, excuses: Excuses): BrokerEvents & { lowered(): string[] } {
  /** Checkpoints that a late request has lowered. */
  const lowered = new Map<string, number>()
  /** Checkpoints that a late request has raised above where the owner began: he may still store what he knows. */
  const floors = new Map<string, number>()
  return {
    lowered: () => [...lowered.keys()],
    appended(unit, offset, by, before) {
      if (before === null) return
      world.note(`${unit.name} offset ${offset} twice: ${before.by}, ${by}`)
      if (unit.exactlyOnce)
        throw new Violation('I7', `${unit.name}: offset ${offset} is there twice, by ${before.by} and ${by}`)
      if (excuses.covers(unit.name, [before.by, by], before.atMs)) return
      throw new Violation(
        'I7',
        `${unit.name}: offset ${offset} of ${before.by} again by ${by}, though nothing befell them`,
      )
    },
    committed(unit: UnitLog, before: number | null, sender: Sender) {
      const after = unit.checkpoint ?? 0
      if (after > unit.low)
        throw new Violation('I5', `${unit.name}: checkpoint ${after} of ${sender.by}, offset ${unit.low} is not there`)
      const floor = floors.get(unit.name) ?? before ?? 0
      if (sender.isPast()) floors.set(unit.name, Math.min(floor, after))
      else floors.delete(unit.name)
      const low = lowered.get(unit.name)
      if (low !== undefined && after >= low) lowered.delete(unit.name)
      if (before === null || after >= before) return
      world.note(`${unit.name} checkpoint falls from ${before} to ${after} by ${sender.by}`)
      if (!sender.isPast() && after >= floor) return
      if (!sender.isPast())
        throw new Violation('I6', `${unit.name}: ${sender.by} lowers the checkpoint from ${before} to ${after}`)
      lowered.set(unit.name, Math.max(before, low ?? 0))
      excuses.unit(unit.name)
    },
  }
}

type Documents = {
  committed(txn: Txn): void
  epoch(): { epoch: number; session: string; host: string; sinceMs: number }
  /** Of a worker that has registered anew: what it had taken before. */
  keptOrder(id: string): string | null
  lastBeatMs(id: string): number
  beatAnswered(id: string): void
  assigned(unit: string): string | null
  lastRoundMs(): number
}

/** I2, I3, I4, and the silence of who is ejected (I9). */
function documentsOf(world: World, ensemble: Ensemble, sessionMs: number): Documents {
  let office = { epoch: 0, session: '', host: '', sinceMs: 0 }
  let lastRoundMs = 0
  /** Of units the document that they stand in, and of documents their units. */
  const placeOf = new Map<string, string>()
  const unitsOf = new Map<string, string[]>()
  const orders = new Map<string, string>()
  const registered = new Set<string>()
  const kept = new Map<string, string>()
  const beats = beatsOf(world, sessionMs)

  function epochSet(change: Change, { session, host }: Txn): void {
    if (!change.entry) return
    const { epoch } = readEpoch(change.entry.data, change.path)
    world.note(`${host} takes office, epoch ${epoch}`)
    if (epoch <= office.epoch) throw new Violation('I3', `epoch ${epoch} of ${host} after ${office.epoch}`)
    office = { epoch, session, host, sinceMs: world.nowMs() }
  }

  function newer(path: string, at: { epoch: number; generation: number }): void {
    const order = orderOf(at)
    const before = orders.get(path)
    if (before !== undefined && order < before) throw new Violation('I3', `${path} falls from ${before} to ${order}`)
    orders.set(path, order)
  }

  /** Ids whose document, or a chunk of it, has changed. */
  function assignmentOf(id: string): void {
    const path = paths.assignment(id)
    const head = ensemble.tree.get(path)
    for (const unit of unitsOf.get(id) ?? []) if (placeOf.get(unit) === id) placeOf.delete(unit)
    unitsOf.delete(id)
    if (!head) return
    const doc = readAssignment(head.data, path)
    newer(path, doc)
    const chunks = Array.from({ length: doc.chunks }, (_, k) => {
      const chunk = ensemble.tree.get(`${path}/${chunkName(doc, k)}`)
      if (!chunk) throw new Violation('I2', `${path} counts ${doc.chunks} chunks, chunk ${k} is not there (C-32)`)
      return readChunk(chunk.data, path)
    })
    unitsOf.set(id, namesOf(doc.chunks > 0 ? joinChunks(chunks) : doc.units))
  }

  /** I2, when the whole transaction is there. */
  function place(ids: Iterable<string>): void {
    for (const id of ids) {
      for (const unit of unitsOf.get(id) ?? []) {
        const other = placeOf.get(unit)
        if (other !== undefined && other !== id)
          throw new Violation('I2', `${unit} stands in the documents of ${other} and ${id}`)
        placeOf.set(unit, id)
      }
    }
  }

  function leaderOnly(change: Change, txn: Txn): void {
    if (txn.session === office.session) return
    throw new Violation('I4', `${change.path} is ${change.was} by ${txn.host}, in office is ${office.host}`)
  }

  return {
    epoch: () => office,
    lastBeatMs: beats.lastMs,
    beatAnswered: beats.answered,
    keptOrder: id => kept.get(id) ?? null,
    assigned: unit => placeOf.get(unit) ?? null,
    lastRoundMs: () => lastRoundMs,
    committed(txn) {
      const ids = new Set<string>()
      const joined: string[] = []
      for (const change of txn.changes) {
        const { path, was } = change
        if (was === 'counted') continue
        const [, root = '', id = ''] = path.split('/')
        if (path === paths.epoch) epochSet(change, txn)
        if (id === '') continue
        // What a leader writes there of the dead is of its own generation; back again they go on from theirs (C-12).
        if (root === 'held' && id === txn.host && change.entry && path === paths.held(id))
          newer(path, readHeld(change.entry.data, path))
        if (txn.ends) continue
        if (root === 'assignments' || (root === 'held' && id !== txn.host)) {
          leaderOnly(change, txn)
          lastRoundMs = world.nowMs()
          world.note(`${txn.host} ${was} ${path} ${change.entry?.data.slice(0, 160) ?? ''}`)
        }
        if (root === 'assignments') ids.add(id)
        if (root === 'workers') {
          if (id !== txn.host) leaderOnly(change, txn)
          beats.worker(txn, change, id, office.host)
          if (was === 'made') joined.push(id)
        }
      }
      for (const id of joined) {
        if (registered.has(id)) kept.set(id, orders.get(paths.held(id)) ?? '')
        registered.add(id)
      }
      for (const one of ids) assignmentOf(one)
      place(ids)
    },
  }
}

function orderOf({ epoch, generation }: { epoch: number; generation: number }): string {
  return `${String(epoch).padStart(6)}.${String(generation).padStart(6)}`
}

/** I9: who is ejected was silent for its takeover time, and its leader could have heard it. */
function beatsOf(world: World, sessionMs: number) {
  const { takeoverMs } = leaseTimes(sessionMs)
  const workers = new Map<string, number>()
  const holeMs = (sessionMs / 3) * rateMax
  /** Answered without a hole since, and what was so before that hole. */
  const leaders = new Map<
    string,
    { lastMs: number; sinceMs: number; before: { sinceMs: number; toMs: number } | null }
  >()
  return {
    lastMs: (id: string) => workers.get(id) ?? world.nowMs(),
    answered(host: string): void {
      const nowMs = world.nowMs()
      const known = leaders.get(host)
      if (known && nowMs - known.lastMs <= holeMs) known.lastMs = nowMs
      else {
        const before = known ? { sinceMs: known.sinceMs, toMs: known.lastMs + holeMs } : null
        leaders.set(host, { lastMs: nowMs, sinceMs: nowMs, before })
      }
    },
    worker(txn: Txn, change: Change, id: string, leader: string): void {
      const nowMs = world.nowMs()
      if (change.entry) {
        if (change.was === 'made') world.note(`${txn.host} registers`)
        workers.set(id, nowMs)
        return
      }
      if (id === txn.host) return
      world.note(`${txn.host} ejects ${id}`)
      const beatMs = workers.get(id) ?? 0
      const leastMs = takeoverMs / rateMax
      if (nowMs - beatMs < leastMs)
        throw new Violation('I9', `${id} is ejected ${(nowMs - beatMs).toFixed(0)} ms after its last beat`)
      const known = leaders.get(leader)
      const heard = { sinceMs: known?.sinceMs ?? 0, toMs: nowMs }
      // Decided before its hole and written after it, it is as good: the write is at the version seen (C-7).
      const all = known?.before ? [heard, known.before] : [heard]
      if (all.some(({ sinceMs, toMs }) => toMs - Math.max(sinceMs, beatMs) >= leastMs)) return
      const heardMs = (nowMs - heard.sinceMs).toFixed(0)
      throw new Violation('I9', `${id} is ejected by ${leader}, which has been answered for ${heardMs} ms only (C-9)`)
    },
  }
}
