import type { World } from './world.ts'

/** What has befallen processes and units: a planned move alone repeats nothing (I7). */
export type Excuses = {
  /** Something unplanned is about to befall this process, `'*'` = all; gives what ends it. */
  begin(id: string): () => void
  /** It has befallen it now. */
  now(id: string): void
  /** A late request has lowered a unit's checkpoint. */
  unit(name: string): void
  /** Whether something befell one of them, or the unit, from shortly before that time on. */
  covers(unit: string, ids: readonly string[], fromMs: number): boolean
}

/** What a fault leaves behind: requests on the wire, commits that were not done. */
const afterMs = 20_000

export function makeExcuses(world: World): Excuses {
  const list = new Map<string, { fromMs: number; toMs: number }[]>()

  function begin(id: string): () => void {
    const one = { fromMs: world.nowMs(), toMs: Number.POSITIVE_INFINITY }
    list.set(id, [...(list.get(id) ?? []), one])
    return () => {
      one.toMs = world.nowMs()
    }
  }

  return {
    begin,
    now: id => begin(id)(),
    unit: name => begin(`unit ${name}`)(),
    covers: (unit, ids, fromMs) =>
      [...ids, '*', `unit ${unit}`].some(id => list.get(id)?.some(one => one.toMs >= fromMs - afterMs) ?? false),
  }
}
