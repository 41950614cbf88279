import type { Codec } from '../batch/codec.ts'
import type { Crc } from '../batch/crc.ts'
import { faultOf, MillraceError } from '../errors.ts'
import { noTopic } from '../flow/noTopic.ts'
import { type Gaps, otherTopic } from '../flow/position.ts'
import { type Selection, selection, type TopicRules } from '../flow/select.ts'
import { checkpointOf } from '../flow/window.ts'
import { backOffMs, checkpointIntervalMs, stopDrainMs, topicsRefreshMs, unitBackOff, unitLookMs } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Isolation, KafkaCluster, Part } from '../ports/kafka.ts'
import { type Checkpoints, flowCheckpoints } from './checkpoints.ts'
import { type Latency, latency } from './counts.ts'
import { selectedTopics, type Units, unitsOf } from './decide/unitsOf.ts'
import type { Tell } from './events.ts'
import { flowName } from './flowName.ts'
import { endWhereGone } from './gone.ts'
import { firstLook } from './look.ts'
import { watchLane } from './park.ts'
import { pause } from './pause.ts'
import { type CopyReport, reportOf } from './report.ts'
import type { CopyContext, Unit } from './run.ts'
import { keyOf, placeUnits } from './start.ts'
import { troubleTeller } from './troubles.ts'
import { copyPartition } from './unit.ts'
import { unlessAborted } from './unlessAborted.ts'

export type CopySpec = { topics: TopicRules; isolation: Isolation; gaps: Gaps }
export type CopyHow = {
  /** Null: named after the two clusters (M-100). */
  name: string | null
  from: KafkaCluster
  to: KafkaCluster
  spec: CopySpec
  /** Copy to the ends seen at the start, then end. */
  untilEnd: boolean
  clock: Clock
  chance: Chance
  codec: Codec
  crc: Crc
  stop: AbortSignal
  abort: AbortSignal
  tell: Tell
}
export type Copy = {
  readonly flow: string
  readonly latency: Latency
  units(): Iterable<Unit>
  report(): CopyReport
  /** Ends when every end is reached, or after a stop, with all checkpoints stored; `whole`: they are. */
  readonly done: Promise<{ whole: boolean }>
}

/**
 * Copies the selected topics of one cluster to another: reaches both, then runs a unit for each partition. Rejects
 * with `config-invalid` (a pattern), `not-found` (nothing selected), and what keeps a cluster from being reached.
 */
export async function openCopy(how: CopyHow): Promise<Copy> {
  const selected = selection(how.spec.topics)
  const source = await firstLook(how.from, 'all', how)
  const topics = selectedTopics(source, selected).map(t => t.topic)
  const destination = await firstLook(how.to, topics, how)
  if (source.clusterId !== '' && source.clusterId === destination.clusterId) {
    const message = `source and destination are the same cluster ${source.clusterId}: a topic would be copied onto itself (M-21)`
    throw new MillraceError('config-invalid', message, { hint: '--from and --to must be two clusters' })
  }
  if (topics.length === 0) throw noTopic(how.spec.topics.include, source.topics)
  const flow = how.name ?? flowName(source.clusterId, destination.clusterId)
  return runCopy(how, flow, selected, unitsOf(source, destination, selected))
}

type State = {
  how: CopyHow
  flow: string
  selected: Selection
  units: Map<string, Unit>
  /** Selected, and not to be copied yet: no destination, no leader. */
  waiting: Part[]
  running: Set<Promise<void>>
  ctx: CopyContext
  checkpoints: Checkpoints
  /** What was last said of each partition and of each topic that is missing. */
  told: Map<string, string>
  /** What ends the whole flow. */
  fatal: (error: unknown) => void
}

function runCopy(how: CopyHow, flow: string, selected: Selection, first: Units): Copy {
  const { clock } = how
  const group = `millrace.${flow}`
  const failed = new AbortController()
  let broken: { error: unknown } | null = null
  const stop = AbortSignal.any([how.stop, failed.signal])
  const giveUp = new AbortController()
  const ctx: CopyContext = {
    source: how.from.source({ isolation: how.spec.isolation, rack: null }),
    sink: how.to.sink,
    admin: how.from.admin,
    clock,
    chance: how.chance,
    codec: how.codec,
    crc: how.crc,
    gaps: how.spec.gaps,
    mayWrite: () => true,
    stop,
    abort: AbortSignal.any([how.abort, giveUp.signal]),
    latency: latency(),
    tell: how.tell,
  }
  const fatal = (error: unknown) => {
    broken ??= { error }
    failed.abort()
  }
  const units = new Map<string, Unit>()
  const store = how.from.checkpoints
  const checkpoints = flowCheckpoints({ store, group, units, mayWrite: ctx.mayWrite, clock, tell: how.tell, fatal })
  const running = new Set<Promise<void>>()
  const told = new Map<string, string>()
  const state: State = { how, flow, selected, units, waiting: [], running, ctx, checkpoints, told, fatal }
  const tellTroubles = troubleTeller(how.tell)
  const cancels = [
    every(clock, checkpointIntervalMs, () => checkpoints.commit()),
    every(clock, unitLookMs, () => {
      const nowMs = clock.nowMs()
      for (const { run } of units.values()) {
        if (run && how.untilEnd) endWhereGone(run, nowMs)
        if (run) watchLane(run, nowMs)
      }
      tellTroubles(units.values(), nowMs)
    }),
  ]
  stop.addEventListener('abort', () => cancels.push(clock.after(stopDrainMs, () => giveUp.abort())), { once: true })

  async function whole(): Promise<{ whole: boolean }> {
    try {
      await rounds(state, first)
      while (running.size > 0) await Promise.all(running)
      if (broken) throw broken.error
      const stored = await checkpoints.finish(how.abort)
      return { whole: stored && !ctx.abort.aborted }
    } finally {
      for (const cancel of cancels) cancel()
    }
  }
  return {
    flow,
    latency: ctx.latency,
    units: () => units.values(),
    report: () => reportOf(units.values(), state.waiting, { nowMs: clock.nowMs(), wallMs: clock.wallMs() }),
    done: whole(),
  }
}

/** What should run against what runs, again and again: new topics and partitions are taken up (M-12). */
async function rounds(state: State, first: Units): Promise<void> {
  const { how, ctx } = state
  let found: Units | null = first
  for (;;) {
    const open = found === null || (await round(state, found)) > 0
    if (how.untilEnd && !open) return tellVanished(state, first)
    await pause(how.clock, how.untilEnd ? unitLookMs : topicsRefreshMs, ctx.stop)
    if (ctx.stop.aborted) return
    found = await lookAgain(state)
  }
}

/** Starts what does not run yet. Gives how many partitions must be looked up again. */
async function round(state: State, found: Units): Promise<number> {
  const { how, units, ctx } = state
  const { tell, spec, untilEnd, from } = how
  tellMissing(state, found.missing)
  const fresh = found.units.filter(plan => !units.has(keyOf(plan)))
  state.waiting = [...found.missing, ...fresh]
  if (fresh.length === 0) return 0
  try {
    const group = `millrace.${state.flow}`
    const placed = placeUnits(fresh, { from, group, spec, untilEnd, tell, stop: ctx.stop })
    const placing = await unlessAborted(placed, ctx.stop)
    if (placing === null) return 0
    const unstored = () => placing.units.filter(unit => unit.committed === null && unit.fault === null)
    await state.checkpoints.begin(unstored(), ctx.stop)
    const stuck = new Set(unstored())
    state.waiting = [...found.missing, ...placing.unavailable, ...[...stuck].map(unit => unit.part)]
    for (const unit of placing.units) if (!stuck.has(unit)) launch(state, unit)
    return placing.unavailable.length + stuck.size
  } catch (error) {
    if (ctx.stop.aborted) return 0
    if (!(error instanceof MillraceError) || !error.retryable) throw error
    return fresh.length
  }
}

/** Null: nobody answers now, or the copy is stopping. */
async function lookAgain(state: State): Promise<Units | null> {
  const { how, selected, ctx } = state
  try {
    const source = await unlessAborted(how.from.admin.look('all'), ctx.stop)
    if (source === null) return null
    const topics = selectedTopics(source, selected).map(t => t.topic)
    const destination = await unlessAborted(how.to.admin.look(topics), ctx.stop)
    return destination && unitsOf(source, destination, selected)
  } catch (error) {
    if (!(error instanceof MillraceError) || !error.retryable) throw error
    return null
  }
}

function launch(state: State, unit: Unit): void {
  state.units.set(keyOf(unit.part), unit)
  // Where it must begin is for somebody to decide: nothing is copied again or skipped in silence.
  if (unit.fault !== null) return tellFault(state, unit)
  const running = runUnit(state, unit).catch(state.fatal)
  state.running.add(running)
  void running.then(() => state.running.delete(running))
}

/** A unit that fails is tried again on the `unit` curve (M-93); a copy until the end says so once, and is over. */
async function runUnit(state: State, unit: Unit): Promise<void> {
  const { how, ctx } = state
  for (let tries = 1; ; tries++) {
    const before = checkpointOf(unit.window)
    await attempt(state, unit)
    tellFault(state, unit)
    if (unit.fault === null || how.untilEnd || ctx.stop.aborted) return
    if (checkpointOf(unit.window) > before) tries = 1
    await pause(how.clock, backOffMs(unitBackOff, tries, how.chance), ctx.stop)
    if (ctx.stop.aborted) return
  }
}

async function attempt(state: State, unit: Unit): Promise<void> {
  const { part, destinationId } = unit
  try {
    // A lane writes to whatever topic has the name when it is opened, so after a fault the id is looked at (M-16).
    if (unit.fault !== null) {
      const there = await destinationIdOf(state, part.topic)
      if (there === null || otherTopic(destinationId, there)) return
    }
    await copyPartition(unit, state.ctx)
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    unit.fault = { ...faultOf(error, 'kafka-protocol'), offset: checkpointOf(unit.window) }
  }
}

/** Null: not known now. */
async function destinationIdOf(state: State, topic: string): Promise<string | null> {
  try {
    const view = await unlessAborted(state.how.to.admin.look([topic]), state.ctx.stop)
    return view?.topics.find(t => t.topic === topic && t.code === 0)?.topicId ?? null
  } catch (error) {
    if (error instanceof MillraceError && error.retryable) return null
    throw error
  }
}

function tellFault(state: State, unit: Unit): void {
  if (unit.fault === null) return
  const { topic, partition } = unit.part
  const { code, message, hint, offset } = unit.fault
  const said = `${code} ${offset}`
  if (state.told.get(keyOf(unit.part)) === said) return
  state.told.set(keyOf(unit.part), said)
  state.how.tell({ code, message, hint, topic, partition, offset, state: 'error' })
}

/** Selected at the first look and deleted before it could begin: nothing ends `ok` that was not copied. */
function tellVanished(state: State, first: Units): void {
  const { units, waiting, how } = state
  const known = new Set([...units.keys(), ...waiting.map(keyOf)])
  const gone = first.units.filter(plan => !known.has(keyOf(plan)))
  waiting.push(...gone)
  for (const topic of new Set(gone.map(plan => plan.topic))) {
    const message = `${topic}: the source topic was deleted before its copy began`
    how.tell({ code: 'source-missing', message, hint: 'leave it out, or make it anew', topic, state: 'waiting' })
  }
}

/** Once per topic. */
function tellMissing(state: State, missing: readonly Part[]): void {
  for (const topic of new Set(missing.map(part => part.topic))) {
    if (state.told.has(topic)) continue
    state.told.set(topic, 'destination-missing')
    const numbers = missing.filter(part => part.topic === topic).map(part => part.partition)
    const partitions = numbers.length
    // A topic has its partitions from 0 on.
    const [there, all] = [Math.min(...numbers), Math.max(...numbers) + 1]
    const isThere = there > 0
    const message = isThere
      ? `${topic}: the destination has ${there} of ${all} partitions`
      : `${topic}: the destination has no such topic`
    const hint = isThere
      ? `raise it there to ${all} partitions; those that it has are copied`
      : `create it there with ${all} ${all === 1 ? 'partition' : 'partitions'}; the other topics are copied`
    state.how.tell({ code: 'destination-missing', message, hint, topic, partitions, state: 'waiting' })
  }
}

function every(clock: Clock, ms: number, act: () => void): () => void {
  let cancel = clock.after(ms, tick)
  function tick(): void {
    cancel = clock.after(ms, tick)
    act()
  }
  return () => cancel()
}
