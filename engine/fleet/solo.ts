import { type Fault, faultOf, MillraceError } from '../errors.ts'
import { type FlowPlan, openSoloFlow, type SoloFlow, type SoloParts } from './soloFlow.ts'

export type Solo = {
  flows(): Iterable<SoloFlow>
  flow(name: string): SoloFlow | null
  /** As it is to run now, also while what was before still lets go; null: it is not to run. */
  plan(name: string): FlowPlan | null
  /** What a flow cannot begin with, or could not go on with. */
  fault(name: string): Fault | null
  /** What running flows do not take of these plans, by flow (M-20). */
  refused(plans: ReadonlyMap<string, FlowPlan>): { flow: string; fault: Fault }[]
  /**
   * Takes flows as they are declared now, as a whole (DESIGN §4): new ones begin, those that have left are stopped,
   * changed ones go on with what has changed, and one that is given as the very same plan is left alone. Gives why not,
   * by flow, and then nothing has changed. `taken` is called when nothing stands against it, before the first begins:
   * only then what they name is to be opened.
   */
  apply(plans: ReadonlyMap<string, FlowPlan>, taken?: () => void): { flow: string; fault: Fault }[]
  /** Every flow has ended. Rejects with the first thing that a flow could not go on with, when all have ended. */
  readonly done: Promise<{ whole: boolean }>
}

/** `flow` null: it could not begin. */
type Entry = { flow: SoloFlow | null; plan: FlowPlan; over: boolean; fault: Fault | null }

/** A flow that ends, and what begins in its place when it has let go. */
type Leaving = { next: FlowPlan | null }

/** All flows in one process, with no plan, no lease and no ZooKeeper (C-96). */
export function startSolo(first: ReadonlyMap<string, FlowPlan>, parts: SoloParts): Solo {
  const flows = new Map<string, Entry>()
  const leaving = new Map<string, Leaving>()
  const lives = new Set<Promise<{ whole: boolean }>>()
  const { promise: done, resolve, reject } = Promise.withResolvers<{ whole: boolean }>()
  let broken: { error: unknown } | null = null
  let whole = true

  function begin(name: string, plan: FlowPlan): void {
    const entry: Entry = { flow: null, plan, over: true, fault: null }
    flows.set(name, entry)
    const flow = opened(name, entry, parts)
    if (flow === null) return
    Object.assign(entry, { flow, over: false })
    lives.add(flow.done)
    const broke = (error: unknown) => {
      broken ??= { error }
      entry.fault = faultOf(error, 'steer-failed')
      parts.broke(name, error)
    }
    const ended = (result: { whole: boolean } | undefined) => {
      whole &&= result?.whole ?? whole
      entry.over = true
      lives.delete(flow.done)
      settle()
    }
    void flow.done.catch(broke).then(result => ended(result ?? undefined))
  }

  /** With nothing declared that can begin it waits for what comes, until it is stopped. */
  function settle(): void {
    const isIdle = [...flows.values()].every(({ flow }) => flow === null)
    if (lives.size > 0 || leaving.size > 0 || (isIdle && !parts.stop.aborted)) return
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
    void (entry.flow?.end() ?? Promise.resolve()).then(() => {
      leaving.delete(name)
      if (place.next && !parts.stop.aborted) begin(name, place.next)
      else settle()
    })
  }

  function change(name: string, plan: FlowPlan): void {
    const entry = flows.get(name)
    if (leaving.has(name)) return leave(name, plan)
    if (entry === undefined) return begin(name, plan)
    if (entry.plan === plan) return
    const { kind, spec } = entry.plan
    if (entry.over || entry.flow === null || kind !== plan.kind || kind.restarts(spec, plan.spec))
      return leave(name, plan)
    entry.plan = plan
    entry.flow.change(plan)
  }

  for (const [name, plan] of first) begin(name, plan)
  parts.stop.addEventListener('abort', settle, { once: true })
  return {
    ...shownOf(flows, leaving),
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

/** Null: what it names is not there, so it is told, and the others run. */
function opened(name: string, entry: Entry, parts: SoloParts): SoloFlow | null {
  try {
    return openSoloFlow(name, entry.plan, parts)
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    entry.fault = faultOf(error, error.code)
    parts.broke(name, error)
    return null
  }
}

function shownOf(
  flows: ReadonlyMap<string, Entry>,
  leaving: ReadonlyMap<string, Leaving>,
): Pick<Solo, 'flows' | 'flow' | 'plan' | 'fault' | 'refused'> {
  return {
    flows: () => [...flows.values()].flatMap(({ flow }) => flow ?? []),
    flow: name => flows.get(name)?.flow ?? null,
    plan: name => leaving.get(name)?.next ?? flows.get(name)?.plan ?? null,
    fault: name => flows.get(name)?.fault ?? null,
    refused: plans => refusedOf(plans, flows),
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
