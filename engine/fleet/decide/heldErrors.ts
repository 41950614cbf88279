import type { Measured } from '../../flow/contract.ts'
import type { HeldError } from './documents/held.ts'

/** Why a unit does not run, `code` null: it does; `sinceMs` on the monotonic clock. */
export type UnitError = Pick<Measured, 'unit' | 'code' | 'sinceMs' | 'offset'>

/** As a report of the flow's worker has them (C-30). `wallAtMs`: what the wall clock says when the monotonic one is 0. */
export function* heldErrors(flow: string, errors: Iterable<UnitError>, wallAtMs: number): Generator<HeldError> {
  for (const { unit, code, sinceMs, offset } of errors) {
    if (code === null) continue
    const at = Math.max(0, Math.round(wallAtMs + sinceMs))
    yield { unit: `${flow}/${unit}`, code, sinceMs: at, offset: offset === null ? null : String(offset) }
  }
}
