import type { Fault } from '../errors.ts'
import { type FlowPlan, openSoloFlow, type SoloFlow, type SoloParts } from './soloFlow.ts'

export type Solo = {
  flows(): Iterable<SoloFlow>
  /**
   * Takes flows as they are declared now, as a whole (DESIGN §4): new ones begin, those that have left are stopped,
   * changed ones go on with what has changed. Gives why not, by flow, and then nothing has changed. `taken` is called
   * when nothing stands against it, before the first begins: only then what they name is to be opened.
   */
  apply(plans: ReadonlyMap<string, FlowPlan>, taken?: () => void): { flow: string; fault: Fault }[]
  /** Every flow has ended. Rejects with the first thing that a flow could not go on with, when all have ended. */
  readonly done: Promise<{ whole: boolean }>
}

type Entry = { flow: SoloFlow; plan: FlowPlan; over: boolean }

/** All flows in one process, with no plan, no lease and no ZooKeeper (C-96). */
export function startSolo(first: ReadonlyMap<string, FlowPlan>, parts: SoloParts): Solo {
  const flows = new Map<string, Entry>()
  /** Flows that end, and what begins in their place when they have let go. */
  const leaving = new Map<string, { next: FlowPlan | null }>()
  const lives = new Set<Promise<{ whole: boolean }>>()
  const { promise: done, resolve, reject } = Promise.withResolvers<{ whole: boolean }>()
  let broken: { error: unknown } | null = null
  let whole = true

  function begin(name: string, plan: FlowPlan): void {
    const flow = openSoloFlow(name, plan, parts)
    const entry = { flow, plan, over: false }
    flows.set(name, entry)
    lives.add(flow.done)
    const ended = () => {
      entry.over = true
      lives.delete(flow.done)
      settle()
    }
    flow.done.then(
      result => {
        whole &&= result.whole
        ended()
      },
      error => {
        broken ??= { error }
        parts.broke(name, error)
        ended()
      },
    )
  }

  /** With nothing declared it waits for what comes, until it is stopped. */
  function settle(): void {
    if (lives.size > 0 || leaving.size > 0 || (flows.size === 0 && !parts.stop.aborted)) return
    if (broken) reject(broken.error)
    else resolve({ whole })
  }

  function leave(name: string, next: FlowPlan | null): void {
    const entry = flows.get(name)
    const already = leaving.get(name)
    if (already) already.next = next
    if (!entry) return
    flows.delete(name)
    const place = { next }
    leaving.set(name, place)
    void entry.flow.end().then(() => {
      leaving.delete(name)
      if (place.next && !parts.stop.aborted) begin(name, place.next)
      else settle()
    })
  }

  function change(name: string, plan: FlowPlan): void {
    const entry = flows.get(name)
    if (leaving.has(name)) return leave(name, plan)
    if (entry === undefined) return begin(name, plan)
    const { kind, spec } = entry.plan
    if (entry.over || kind !== plan.kind || kind.restarts(spec, plan.spec)) return leave(name, plan)
    entry.plan = plan
    entry.flow.change(plan)
  }

  for (const [name, plan] of first) begin(name, plan)
  parts.stop.addEventListener('abort', settle, { once: true })
  return {
    flows: () => [...flows.values()].map(entry => entry.flow),
    apply(next, taken = () => {}) {
      const refused = refusedOf(next, flows)
      if (refused.length > 0) return refused
      taken()
      for (const name of new Set([...flows.keys(), ...leaving.keys()])) if (!next.has(name)) leave(name, null)
      for (const [name, plan] of next) change(name, plan)
      return []
    },
    done,
  }
}

function refusedOf(
  next: ReadonlyMap<string, FlowPlan>,
  flows: ReadonlyMap<string, Entry>,
): { flow: string; fault: Fault }[] {
  return [...next].flatMap(([flow, plan]) => {
    const before = flows.get(flow)?.plan
    const fault = before?.kind === plan.kind ? plan.kind.refuses(before.spec, plan.spec) : null
    // A paused flow has nothing that runs.
    return fault && before?.overlay.paused !== '*' ? [{ flow, fault }] : []
  })
}
