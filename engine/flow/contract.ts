import type { Codec } from '../batch/codec.ts'
import type { Crc } from '../batch/crc.ts'
import type { Fault, FaultCode, MillraceError } from '../errors.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { KafkaCluster } from '../ports/kafka.ts'
import type { FlowEvent, Tell } from './event.ts'
import type { Overlay } from './overlay.ts'
import type { FlowReport, Warning } from './report.ts'
import type { SelectRule } from './select.ts'
import type { PartitionState } from './states.ts'

/** A unit that may run now (DESIGN §3); `unit` is `topic/partition` within its flow. */
export type UnitPlan = {
  unit: string
  weight: number
  /** Tags that its worker must have, beside those of the flow (C-53). */
  requires?: readonly string[]
  /** False: it would start over, so that only its end moves it (C-50). */
  movable?: boolean
}

/** A chore as a level: doing it twice is harmless. `units` must be free while it runs (C-95). */
export type Action = { do: string; units?: readonly string[] }

/** Of an action: the pieces that could not be done; the others are. */
export type Undone = { item: string; error: MillraceError }

/** What the loop adds to what a kind has looked up (C-90). */
export type Around = {
  flow: string
  /** Monotonic; since 1970. */
  nowMs: number
  wallMs: number
  epoch: number
  overlay: Overlay
  /** The flow is asked to go: what is to be done before it may, and at last `{do: 'end'}` (C-90). */
  deleting?: boolean
  /** Units that run, wait to run again, or have ended and not left yet. */
  owned: ReadonlySet<string>
  /** What is set aside for a while, by `asideKey`, and why (C-94). */
  aside: ReadonlyMap<string, Fault>
}
export type View<Look> = Look & Around

/** What both sides of a flow are given. */
type FlowContext = {
  flow: string
  kafka(cluster: string): KafkaCluster
  clock: Clock
  chance: Chance
  codec: Codec
  crc: Crc
  /** The lease (W-70, C-93). */
  mayWrite(): boolean
  tell: Tell
  /** Copy to the ends seen at the start, then end (M-100). */
  untilEnd: boolean
}
/** Leader side. `signal` ends what is under way. */
export type SteerContext = FlowContext & { epoch: number; signal: AbortSignal }
/** A look also needs to know what people have put in and out (C-38). */
export type LookContext = SteerContext & { overlay: Overlay }
/** To read what one flow has stored and where its logs end, by any process. */
export type ReadContext = Pick<SteerContext, 'flow' | 'kafka' | 'clock' | 'signal'>
/** Worker side, of a whole flow. */
export type WorkerContext = FlowContext & {
  /** Whether a checkpoint may be stored: also for a while after `mayWrite` has ended, for one last time (C-5). */
  mayCommit(): boolean
  overlay(): Overlay
  /** Ends the flow in this process: its units must not go on. */
  fatal(error: unknown): void
}
/** Worker side, of one unit. `stop`: finish what is under way; `abort`: wait no longer. */
export type UnitContext = {
  stop: AbortSignal
  abort: AbortSignal
  /** It has moved on: the next failure is a first one. */
  progress(): void
}

/** What a worker reports of a unit that it has (C-30: `/stats`, errors of `/held`; C-56). */
export type Measured = {
  unit: string
  /** What the destination has acknowledged of late. */
  bytesPerSecond: number
  /** Null = not known. */
  lagRecords: number | null
  state: PartitionState
  /** Why it does not run as it should, where a fault tells, and at which offset it stands. */
  code: FaultCode | null
  offset: bigint | null
  /** Since when state and code are these; monotonic, as `nowMs`. */
  sinceMs: number
}

/** Units by their names in the flow. */
export type OffsetsWish = {
  units: ReadonlySet<string>
  to: 'earliest' | 'latest' | { timeMs: number } | { offset: bigint }
  dryRun: boolean
}
export type OffsetChange = {
  topic: string
  partition: number
  /** Null: there is none, or it is not known. */
  before: bigint | null
  after: bigint | null
  fault: Fault | null
}

/** Where one partition stands (M-94). Null: not known now, or none stored. */
export type OffsetRow = {
  topic: string
  partition: number
  checkpoint: bigint | null
  logStart: bigint | null
  lastStable: bigint | null
  highWatermark: bigint | null
}

/** What a spec makes of one topic (M-13). */
export type PreviewRow = {
  topic: string
  selected: boolean
  rule: SelectRule
  /** Null: it is not selected. */
  destination: string | null
  partitions: number
  /** Partitions at the destination now; null = it has no such topic. */
  there: number | null
  fault: Fault | null
}
/** `warnings`: what does not keep it from running, and somebody should know. */
export type FlowPreview = { topics: PreviewRow[]; units: number; warnings: Warning[] }

/** What is known here of a unit that may run in another process (C-30, `/stats`). Null: not known. */
export type UnitSeen = { bytesPerSecond: number | null; lagRecords: number | null; state: PartitionState }

/** What the units of one flow share in one process: docs/decisions/0007. */
export interface FlowWorker {
  /** Until `stop`, or its end; or throws a MillraceError. Its checkpoint is stored when it returns after `stop`. */
  run(unit: string, ctx: UnitContext): Promise<void>
  /** The unit is not this process's any more; it does not run. */
  left(unit: string): void
  /** Of each unit that was begun here and has not left, also while it waits for its next try. */
  measured(nowMs: number): Iterable<Measured>
  /** When no unit runs any more. False: not every checkpoint could be stored. */
  close(signal: AbortSignal): Promise<boolean>
}

/**
 * One contract for all kinds of flow (DESIGN §3). `look`, `units`, `steer` and `perform` are the leader's; `open`
 * gives the worker's side. `units` and `steer` are pure. `look` that is given what it saw last time may read on from
 * there, and changes nothing.
 */
export interface FlowKind<Spec, Look, Act extends Action, Worker extends FlowWorker> {
  readonly kind: string
  /** How often `look` is called although nothing asked for it. */
  lookMs(spec: Spec): number
  look(spec: Spec, ctx: LookContext, before: Look | null): Promise<Look>
  units(spec: Spec, view: View<Look>): UnitPlan[]
  /** In order of urgency. */
  steer(spec: Spec, view: View<Look>): Act[]
  perform(action: Act, spec: Spec, view: View<Look>, ctx: SteerContext): Promise<Undone[]>
  /** Partitions that may still become ready by themselves. */
  pending(spec: Spec, view: View<Look>): number
  /** Why partitions do not run that somebody has to decide on: each is told once, for as long as it stands. */
  stands(spec: Spec, view: View<Look>): FlowEvent[]
  open(spec: Spec, ctx: WorkerContext): Worker
  /** `view` null: nothing was seen yet; `worker` null: its units run in other processes, and `seen` tells of them. */
  report(spec: Spec, view: View<Look> | null, worker: Worker | null, now: ReportNow): FlowReport
  /** Whether running units must be started anew for a changed spec. */
  restarts(before: Spec, after: Spec): boolean
  /** Every unit of the flow by that look, ready or not. */
  parts?(spec: Spec, view: View<Look>): string[]
  /** Puts the checkpoints of free units where people want them (M-94); with `dryRun` it only says where that is. */
  setOffsets?(request: OffsetsWish, spec: Spec, view: View<Look>, ctx: SteerContext): Promise<OffsetChange[]>
  /** Of every partition that is selected: a few requests for all of them. */
  offsets?(spec: Spec, overlay: Overlay, ctx: ReadContext): Promise<OffsetRow[]>
  /** What the flow takes and leaves out by that look, and where it goes (M-13). Pure. */
  preview?(spec: Spec, view: View<Look>): FlowPreview
  /** Where a unit's checkpoint stands by that look: what people asked to skip below it is done (C-38). */
  checkpoint?(view: View<Look>, unit: string): bigint | null
  /** A change that a running flow does not take (M-20), else null. */
  refuses(before: Spec, after: Spec): Fault | null
}

/** `seen`: of a unit that the worker given here does not have. */
export type ReportNow = { nowMs: number; wallMs: number; seen?(unit: string): UnitSeen | null }

/** Method parameters are compared both ways, so every kind is one of these. */
export type AnyKind = FlowKind<unknown, unknown, Action, FlowWorker>

/** The name of what is set aside: one piece of an action, or the whole action. */
export function asideKey(action: string, item = '*'): string {
  return `${action} ${item}`
}
