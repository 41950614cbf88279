import { MillraceError } from '../engine/errors.ts'
import { nearest } from '../engine/flow/nearest.ts'

/** The file has no flow of that name: which it has, or which was meant. */
export function noFlow(file: string, flow: string, flows: readonly string[]): MillraceError {
  const near = nearest(flow, flows)
  const hint = near === null ? `it has: ${flows.join(', ') || 'none'}` : `did you mean ${near}?`
  return new MillraceError('not-found', `${file} has no flow '${flow}'`, { hint })
}
