import type { AnyKind } from '../flow/contract.ts'

/** Of two flows that may not run together: `flow` is the later one. */
export type FlowClash = { flow: string; other: string; topic: string }

/** A kind of flow with what reads its specs. */
export type KindEntry = {
  kind: AnyKind
  /** Throws `config-invalid` that names all faults. */
  readSpec(json: unknown): unknown
  /** What flows of this kind may not do together, by their specs alone. */
  clashes?(flows: ReadonlyMap<string, unknown>): FlowClash[]
}

/** Handed in by the roots: the fleet and its API know no kind (DESIGN §2). */
export type Kinds = Readonly<Record<string, KindEntry>>
