import type { Fault } from '../errors.ts'
import type { Generation } from '../fleet/decide/assignment.ts'
import type { HeldDoc, HeldError } from '../fleet/decide/documents/held.ts'
import type { UnitStats } from '../fleet/decide/documents/stats.ts'
import type { WorkerDoc } from '../fleet/decide/documents/worker.ts'
import type { Plan, WorkerState } from '../fleet/decide/plan.ts'
import type { AnyKind, OffsetChange, OffsetRow, OffsetsWish } from '../flow/contract.ts'
import type { FlowEvent } from '../flow/event.ts'
import type { Overlay } from '../flow/overlay.ts'
import type { FlowReport, Warning } from '../flow/report.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Coordinator } from '../ports/coordinator.ts'
import type { Log } from '../ports/log.ts'
import type { AuditLine } from './audit.ts'
import type { TokenRoles } from './tokens.ts'

/**
 * What the API stands on, handed in by a root. Shapes of the fleet are written here again as far as they are read:
 * one feature does not import another.
 */
export type ApiParts = {
  listen: { host: string; port: number }
  /** `solo`: one process without a plan; there drain, move and rebalance mean nothing (C-96). */
  mode: 'fleet' | 'solo'
  version: string
  /** The session in use: another one after `lost` (C-80). */
  coordinator(): Coordinator
  kinds: ApiKinds
  /** What a kind has against a spec, all at once; its paths begin in the spec. Without it `readSpec` alone says it. */
  specFaults?(kind: string, spec: unknown): readonly BodyFault[]
  /** `here`: it is this process. Null: nobody leads, as far as is known. */
  leader(): Leader | null
  /** Only where the leader is. */
  known(): Known | null
  /** The last of a flow that this process has heard of, the newest last. */
  events?(flow: string): readonly KnownEvent[]
  /** What the spec would select now, with what people have put in and out of the flow; it changes nothing. */
  preview(of: PreviewAsked, signal: AbortSignal): Promise<Preview>
  readOffsets?(
    flow: string,
    of: { kind: string; spec: unknown; overlay: Overlay },
    signal: AbortSignal,
  ): Promise<readonly OffsetRow[]>
  /** Something was written: look now. */
  nudge(): void
  ready(): { ready: boolean; why: string | null }
  metrics(): Promise<{ type: string; text: string }>
  /** To the leader, when it is another process. */
  fetch: typeof fetch
  clock: Clock
  chance: Chance
  /** Null: nobody is asked who he is, and only this machine may ask. */
  auth: TokenRoles | null
  audit(line: AuditLine): void
  /** For bugs of our own behind an answer 500. */
  log: Log
  /** False: what people change lasts as long as the process (C-66). */
  keepsChanges: boolean
}

export type ApiKinds = Readonly<
  Record<
    string,
    {
      kind: AnyKind
      readSpec(json: unknown): unknown
      clashes?(flows: ReadonlyMap<string, unknown>): { flow: string; other: string; topic: string }[]
    }
  >
>

export type Leader = { id: string; epoch: number; url: string | null; here: boolean }

/** One thing that is wrong with a body. */
export type BodyFault = { path: string; found: string; expected: string; hint: string | null }

/** What the leader knows beyond the documents; times on its monotonic clock. */
export type Known = {
  epoch: number
  sinceMs: number
  plan(): Plan & { weights?: ReadonlyMap<string, number> }
  workers(): ReadonlyMap<string, KnownWorker>
  flows(): ReadonlyMap<string, KnownFlow>
  unit(name: string): KnownUnit | null
  /** All of a flow, by their names in it. */
  units(flow: string): ReadonlyMap<string, KnownUnit>
  /** In one process, which writes no `/held`: what of a flow runs, as `<part>/<n>`. */
  running?(flow: string): Iterable<string>
  /** In one process, which writes no `/stats`. */
  stats?(flow: string): ReadonlyMap<string, UnitStats>
  setOffsets(flow: string, request: OffsetsRequest, signal: AbortSignal): Promise<readonly OffsetChange[]>
}

export type KnownWorker = {
  doc: WorkerDoc
  beatAgeMs: number
  wanted: Generation | null
  applied: Generation | null
  units: number
  held: number
  load: number
  share: number
  state: WorkerState
  quarantinedUntilMs: number | null
  heldState: HeldDoc['state'] | null
  errors: readonly HeldError[]
  /** Drained, and nothing is left on it (C-61). */
  released?: boolean
  /** Its beats are missing: what it holds may not run. */
  silent?: boolean
}

export type KnownFlow = {
  tag: string
  kind: string
  fault: Fault | null
  nextTryMs: number | null
  wanted: number
  assigned: number
  held: number
  /** Held by workers whose beats are missing; not among `held`. */
  silent?: number
  /** Units that their workers report in error. */
  inError?: number
  inTransit: number
  unplaced: readonly { unit: string; why: string }[]
  /** Since when the oldest unit that nobody holds is not held. */
  oldestUnheldMs: number | null
  aside: ReadonlyMap<string, Fault>
  /** Of its spec alone. */
  warnings?: readonly Warning[]
  report(): FlowReport | null
}

/** `worker`: who has reported it. */
export type KnownEvent = FlowEvent & { atMs: number; worker: string | null }

export type KnownUnit = {
  owner: string | null
  inTransit: { from: string; sinceMs: number } | null
  intent: string | null
  weight: number
  wish: string | null
  why: string | null
}

/** `flow` need not be there yet. */
export type PreviewAsked = { flow: string; kind: string; spec: unknown; overlay: Overlay }
export type Preview = {
  topics: readonly {
    topic: string
    selected: boolean
    rule: string
    destination: string | null
    partitions: number
    there: number | null
    fault: Fault | null
  }[]
  units: number
  /** What does not refuse the flow: a cluster that cannot be reached now (C-102). */
  warnings: readonly { code: string; message: string; hint: string | null }[]
}

export type OffsetsRequest = {
  parts: '*' | ReadonlyMap<string, '*' | readonly number[]>
} & Omit<OffsetsWish, 'units'>
