import { freshAloneMs, freshTogetherMs } from '../../limits.ts'
import { type KnownWorker, type Memory, type Transit, unknownWorker } from './memory.ts'
import type { Assigned, Observed, SeenDoc } from './observed.ts'
import { struck } from './quarantine.ts'
import { isFreed } from './transit.ts'

/** What a round learns from what it has read; nothing is decided yet. */
export function absorb(memory: Memory, observed: Observed, nowMs: number): Memory {
  const workers = new Map<string, KnownWorker>()
  const transit = new Map(memory.transit)
  const placed = new Set(memory.placed)
  let { adopts } = memory
  const ids = [memory.workers, observed.workers, observed.assignments, observed.helds].flatMap(map => [...map.keys()])
  for (const id of new Set(ids)) {
    const before = memory.workers.get(id) ?? unknownWorker(memory.sinceMs)
    const worker = { ...before }
    learnNode(worker, id, observed, nowMs)
    learnHeld(worker, id, observed)
    learnAssigned(worker, before, observed.assignments.get(id), { id, memory, nowMs, transit, placed })
    if (before.assigned === null && worker.adopted !== null && (worker.assigned?.units.size ?? 0) > 0) adopts = true
    learnLeaving(worker, id, observed, nowMs)
    workers.set(id, worker)
  }
  for (const [unit, one] of transit) {
    const worker = workers.get(one.from)
    if (!worker || isFreed(unit, one, worker)) transit.delete(unit)
  }
  count(workers, nowMs)
  return { ...memory, workers, transit, placed, adopts }
}

function learnNode(worker: KnownWorker, id: string, observed: Observed, nowMs: number): void {
  const node = observed.workers.get(id)
  if (!node) {
    if (worker.node === null) return
    // A beat may have come after the last look; none came after this one (C-8).
    Object.assign(worker, { node: null, seenMs: nowMs, newsMs: nowMs })
    strike(worker, observed, nowMs)
    return
  }
  const isNew = worker.node?.created !== node.created
  if (worker.node !== null && isNew) strike(worker, observed, nowMs)
  if (worker.created === null) worker.fresh = 'first'
  else if (worker.created !== node.created) worker.fresh = 'again'
  if (isNew || worker.node?.version !== node.version) Object.assign(worker, { seenMs: node.atMs, newsMs: nowMs })
  worker.firstMs ??= nowMs
  worker.node = { created: node.created, version: node.version }
  worker.created = node.created
  worker.readable = node.doc !== null
  worker.record = node.doc ?? worker.record
}

/** An orderly end is none; nor is what happened while nobody, we included, was answered. */
function strike(worker: KnownWorker, { answeredSinceMs }: Observed, nowMs: number): void {
  const orderly = worker.held?.state === 'left' || worker.held?.state === 'stopping'
  if (orderly || answeredSinceMs > worker.seenMs) return
  worker.strikes = struck(worker.strikes, nowMs)
}

function learnHeld(worker: KnownWorker, id: string, observed: Observed): void {
  const seen = observed.helds.get(id)
  worker.heldFault = seen ? seen.doc === null : worker.held !== null
  if (seen?.doc) worker.held = seen.doc
}

type Where = { id: string; memory: Memory; nowMs: number; transit: Map<string, Transit>; placed: Set<string> }

function learnAssigned(
  worker: KnownWorker,
  before: KnownWorker,
  seen: SeenDoc<Assigned> | undefined,
  { id, memory, nowMs, transit, placed }: Where,
): void {
  const doc = seen?.doc ?? null
  if (doc === null) {
    worker.broken = seen !== undefined || before.assigned !== null
    const isUnknown = before.assigned === null && (seen !== undefined || worker.heldFault)
    // What it was given cannot be read: it may be anything, until it has taken what we write.
    if (isUnknown) worker.adopted ??= { epoch: memory.epoch, generation: memory.generation + 1 }
    return
  }
  worker.broken = false
  worker.assigned = doc
  if (before.assigned === null) {
    if (doc.epoch !== memory.epoch) worker.adopted ??= { epoch: doc.epoch, generation: doc.generation }
  } else if (before.assigned.generation === doc.generation && before.assigned.epoch === doc.epoch) return
  for (const unit of before.assigned?.units ?? []) {
    if (!doc.units.has(unit) && !transit.has(unit)) transit.set(unit, { from: id, at: doc, sinceMs: nowMs })
  }
  for (const unit of doc.units) {
    transit.delete(unit)
    placed.add(unit)
  }
}

function learnLeaving(worker: KnownWorker, id: string, { wishes }: Observed, nowMs: number): void {
  const stopping = worker.node !== null && (worker.record?.state === 'stopping' || worker.held?.state === 'stopping')
  worker.stoppingMs = stopping ? (worker.stoppingMs ?? nowMs) : null
  worker.drainMs = wishes.drains.has(id) ? (worker.drainMs ?? nowMs) : null
}

/** New workers count together, so that a fleet that starts together is planned once (C-52). */
function count(workers: Map<string, KnownWorker>, nowMs: number): void {
  const fresh = [...workers.values()].filter(worker => worker.node !== null && !worker.counted)
  const lastMs = Math.max(...fresh.map(worker => worker.firstMs ?? nowMs))
  for (const worker of fresh) {
    const alone = nowMs - (worker.firstMs ?? nowMs) >= freshAloneMs
    if ((worker.assigned?.units.size ?? 0) > 0 || nowMs - lastMs >= freshTogetherMs || alone) worker.counted = true
  }
}

/** A worker that has accepted a document of a higher epoch than ours (C-21). */
export function aheadOf({ workers, epoch }: Memory): string | null {
  for (const [id, { held }] of workers) if (held !== null && held.epoch > epoch) return id
  return null
}
