import { faultOf, MillraceError } from '../errors.ts'
import type { FlowWorker, UnitContext, WorkerContext } from '../flow/contract.ts'
import { every } from '../flow/every.ts'
import { isPaused } from '../flow/overlay.ts'
import { partOf } from '../flow/unitName.ts'
import { checkpointOf } from '../flow/window.ts'
import { stopDrainMs, unitForgottenMs, unitLookMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import { flowCheckpoints } from './checkpoints.ts'
import { type Latency, latency } from './counts.ts'
import { endWhereCut, endWhereGone } from './gone.ts'
import { measuredUnit, measuredUnplaced, notedAt, noteUnit, type Unplaced } from './measured.ts'
import { watchLane } from './park.ts'
import { faultAt, type Placed } from './place.ts'
import { placer } from './placer.ts'
import type { CopyContext, Unit } from './run.ts'
import { skipper } from './skip.ts'
import type { MirrorSpec } from './spec.ts'
import { noteStanding, standsNoLonger } from './standing.ts'
import { troubleTeller } from './troubles.ts'
import { copyPartition } from './unit.ts'

export type MirrorWorker = FlowWorker & {
  readonly latency: Latency
  /** The units that this process has, by name, and for a day those that have left: these are not `held`, and stand still. */
  readonly units: ReadonlyMap<string, Unit>
}

/** What all units of a mirror share in one process (docs/decisions/0007): their checkpoints go in one request. */
export function openWorker(spec: MirrorSpec, ctx: WorkerContext): MirrorWorker {
  const { clock, tell } = ctx
  const from = ctx.kafka(spec.from)
  const units = new Map<string, Unit>()
  const unplaced = new Map<string, Unplaced>()
  const checkpoints = flowCheckpoints({ ...ctx, store: from.checkpoints, group: `millrace.${ctx.flow}`, units })
  const place = notingPlacer(spec, ctx, { units, unplaced })
  const tellTroubles = troubleTeller(tell, ctx.flow)
  const tellFault = faultTeller(ctx)
  const obeySkip = skipper(ctx)
  const shared: Omit<CopyContext, 'stop' | 'abort'> = {
    source: from.source({ isolation: spec.isolation, rack: spec.fetch.rack }),
    sink: ctx.kafka(spec.to).sink,
    admin: from.admin,
    destinationAdmin: ctx.kafka(spec.to).admin,
    clock,
    chance: ctx.chance,
    codec: ctx.codec,
    crc: ctx.crc,
    gaps: spec.gaps,
    compression: spec.compression,
    mayWrite: ctx.mayWrite,
    latency: latency(),
    tell,
  }
  let whole = true
  const cancels = [
    every(clock, spec.checkpoint.intervalMs, () => checkpoints.commit()),
    every(clock, unitLookMs, () => {
      const nowMs = clock.nowMs()
      for (const unit of units.values()) watch(unit, spec, ctx.untilEnd, nowMs)
      tellTroubles(units.values(), nowMs)
      forget(units, ctx, nowMs)
    }),
  ]

  async function run(name: string, one: UnitContext): Promise<void> {
    const placed = await place(name, one.stop)
    if (placed === null) return
    const { unit, error } = placed
    take(units, name, unit, clock.nowMs())
    const before = checkpointOf(unit.window)
    // When the lease closes, what is acknowledged by now must not wait for the rest, which may not come (C-5).
    const abort = lateAfter(stopDrainMs, one, clock, () => ctx.mayWrite() || checkpoints.last())
    try {
      if (error !== null) throw error
      if (unit.fault !== null && isOfPlacing(unit.fault.code)) unit.fault = null
      obeySkip(unit)
      await copyPartition(unit, { ...shared, stop: one.stop, abort: abort.signal })
    } catch (caught) {
      if (!(caught instanceof MillraceError)) throw caught
      if (checkpointOf(unit.window) > before) one.progress()
      unit.fault = faultAt(caught, unit, ctx.flow)
      tellFault(unit)
      throw caught
    } finally {
      abort.end()
      // Also of one that failed: it may be stopped while it waits for its next try, and would repeat what it has copied.
      if (!(await checkpoints.settle(unit, one.abort)) && one.stop.aborted) whole = false
    }
  }

  return {
    latency: shared.latency,
    units,
    run,
    left(name) {
      unplaced.delete(name)
      letGo(units.get(name), clock.nowMs())
    },
    *measured(nowMs) {
      for (const [name, unit] of units) if (unit.held && !unplaced.has(name)) yield measuredUnit(unit, nowMs)
      for (const [name, one] of unplaced) yield measuredUnplaced(name, one)
    },
    async close(signal) {
      for (const cancel of cancels) cancel()
      for (const unit of units.values()) if (unit.held && !(await checkpoints.settle(unit, signal))) whole = false
      checkpoints.end()
      return whole
    },
  }
}

/** A placer that notes in `unplaced` what waits to be placed, and what cannot be. */
function notingPlacer(
  spec: MirrorSpec,
  ctx: WorkerContext,
  { units, unplaced }: { units: ReadonlyMap<string, Unit>; unplaced: Map<string, Unplaced> },
): (name: string, stop: AbortSignal) => Promise<Placed | null> {
  const { clock } = ctx
  const place = placer({ spec, ctx, units })
  return async (name, stop) => {
    const sinceMs = clock.nowMs()
    if (!units.get(name)?.held && !unplaced.has(name)) unplaced.set(name, { sinceMs, fault: null })
    try {
      const placed = await place(partOf(name), stop)
      if (placed !== null) unplaced.delete(name)
      return placed
    } catch (error) {
      const fault = faultOf(error, 'kafka-unreachable')
      const before = unplaced.get(name)
      if (before?.fault?.code !== fault.code) unplaced.set(name, { sinceMs: clock.nowMs(), fault })
      throw error
    }
  }
}

/** What a unit that runs does not see by itself; each second. */
function watch(unit: Unit, spec: MirrorSpec, untilEnd: boolean, nowMs: number): void {
  const { run } = unit
  if (unit.held) noteUnit(unit, nowMs)
  if (run === null) return
  if (untilEnd) {
    endWhereGone(run, nowMs)
    endWhereCut(run, nowMs)
  }
  watchLane(run, nowMs)
  if (spec.isolation === 'read_committed') noteStanding(unit, nowMs)
}

function take(units: Map<string, Unit>, name: string, unit: Unit, nowMs: number): void {
  units.set(name, unit)
  if (!unit.held) {
    unit.ownedSinceMs = nowMs
    unit.noted = notedAt(nowMs, unit.counts.bytes)
  }
  standsNoLonger(unit)
  // A limit that was raised is found out anew.
  unit.bytesMax = null
  unit.held = true
}

/** With no checkpoint that is known to be stored it begins at what is stored, whoever has written that (C-45). */
function letGo(unit: Unit | undefined, nowMs: number): void {
  if (unit) Object.assign(unit, { held: false, leftMs: nowMs, committed: unit.committed ?? neverStored })
}

const neverStored = -1n

/** What has left for good. A paused one is still told of, with what was copied of it. */
function forget(units: Map<string, Unit>, ctx: WorkerContext, nowMs: number): void {
  for (const [name, { held, leftMs, part }] of units) {
    if (held || leftMs === null || nowMs - leftMs < unitForgottenMs) continue
    if (!isPaused(ctx.overlay(), part.topic, part.partition)) units.delete(name)
  }
}

/**
 * Aborted with the unit, or `ms` after it was told to stop: the rest of the stop is for the last commit. `told` is
 * called when it is told to.
 */
function lateAfter(ms: number, one: UnitContext, clock: Clock, told: () => void): { signal: AbortSignal; end(): void } {
  const late = new AbortController()
  let cancel = () => {}
  const stopped = () => {
    cancel = clock.after(ms, () => late.abort())
    told()
  }
  one.stop.addEventListener('abort', stopped, { once: true })
  return {
    signal: AbortSignal.any([one.abort, late.signal]),
    end() {
      one.stop.removeEventListener('abort', stopped)
      cancel()
    },
  }
}

const placingFaults = new Set([
  'checkpoint-lost',
  'destination-recreated',
  'source-gap',
  'source-truncated',
  'topic-recreated',
])

/** Mended as soon as the unit can begin; others are when it has moved on. */
function isOfPlacing(code: string): boolean {
  return placingFaults.has(code)
}

/** Once for each fault of a partition, however often it is tried again. */
function faultTeller(ctx: WorkerContext): (unit: Unit) => void {
  const told = new Map<Unit, string>()
  return unit => {
    if (unit.fault === null) return
    const { code, message, hint, offset } = unit.fault
    const said = `${code} ${offset}`
    if (told.get(unit) === said) return
    told.set(unit, said)
    const { topic, partition } = unit.part
    ctx.tell({ code, message, hint, topic, partition, offset, state: 'error' })
  }
}
