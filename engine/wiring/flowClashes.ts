import { type Clash, clashesOf } from '../mirror/decide/clashesOf.ts'
import type { MirrorSpec } from '../mirror/spec.ts'
import type { FlowSettings } from '../process/configFlow.ts'

/** Of the flows of a file, by kind: mirrors clash with mirrors. */
export function flowClashes(flows: ReadonlyMap<string, FlowSettings>): Clash[] {
  const mirrors = [...flows].filter(([, { kind }]) => kind === 'mirror')
  return clashesOf(new Map(mirrors.map(([name, { spec }]) => [name, spec as MirrorSpec])))
}
