import type { Measure, Sample } from '../ports/metrics.ts'
import type { Controller } from './controller.ts'
import type { FlowView } from './known.ts'
import type { FleetWorker } from './worker.ts'

/** Writes of this process that were sent and not answered. */
type Unknown = { count(): number }

const unitStates = {
  wanted: (flow: FlowView) => flow.wanted,
  assigned: (flow: FlowView) => flow.assigned,
  held: (flow: FlowView) => flow.held,
  silent: (flow: FlowView) => flow.silent,
  transit: (flow: FlowView) => flow.inTransit,
  unplaced: (flow: FlowView) => flow.unplaced.length,
}

/** What a controller shows of its fleet (COORDINATION §9); the state of units only the leader knows, the others nothing. */
export function controllerMeasures(
  of: () => Controller | null,
  clock: { nowMs(): number },
  unknown: Unknown,
): Measure[] {
  const counts = () => of()?.state().counts ?? null
  const flows = () => of()?.known()?.flows() ?? new Map<string, FlowView>()
  const counter = (what: string, help: string, value: () => number | undefined): Measure =>
    measure('counter', what, help, value)
  return [
    {
      kind: 'gauge',
      name: 'millrace_fleet_units',
      help: 'Units of each flow, as the leader sees them.',
      *read() {
        for (const [flow, view] of flows())
          for (const [state, value] of Object.entries(unitStates)) yield { labels: { flow, state }, value: value(view) }
      },
    },
    {
      kind: 'gauge',
      name: 'millrace_fleet_unit_unowned_seconds',
      help: 'For how long the oldest wanted unit of the flow that nobody holds has had no owner; 0: all are held.',
      *read(): Iterable<Sample> {
        const nowMs = clock.nowMs()
        for (const [flow, { oldestUnheldMs }] of flows())
          yield { labels: { flow }, value: oldestUnheldMs === null ? 0 : Math.max(0, nowMs - oldestUnheldMs) / 1_000 }
      },
    },
    {
      kind: 'counter',
      name: 'millrace_fleet_moves_total',
      help: 'Units that were given or withdrawn, by the reason.',
      *read() {
        for (const [reason, value] of counts()?.moves ?? []) yield { labels: { reason }, value }
      },
    },
    {
      kind: 'histogram',
      name: 'millrace_fleet_handover_seconds',
      help: 'From the withdrawal of a unit until its new owner holds it, as the leader sees it.',
      *read() {
        const found = counts()
        if (found) yield found.handovers.taken.read({})
      },
    },
    {
      kind: 'histogram',
      name: 'millrace_fleet_time_to_owner_seconds',
      help: 'From the first look at a new unit until its first owner holds it.',
      *read() {
        for (const [flow, found] of counts()?.handovers.first ?? []) yield found.read({ flow })
      },
    },
    {
      kind: 'histogram',
      name: 'millrace_fleet_plan_seconds',
      help: 'Time that a round of the leader has thought, without what it reads and writes.',
      *read() {
        const found = counts()
        if (found) yield found.plans.read({})
      },
    },
    counter('ejections_total', 'Workers that this leader has ejected.', () => counts()?.ejections),
    counter('deposed_total', 'Offices of this controller that ended before its stop.', () => counts()?.deposed),
    ...ofEach(() => of()?.leaseLowMs(), unknown),
  ]
}

/** What a worker shows of its part in the fleet (COORDINATION §9). */
export function workerMeasures(of: () => FleetWorker | null, unknown: Unknown): Measure[] {
  const state = () => of()?.state()
  const counter = (what: string, help: string, value: () => number | undefined): Measure =>
    measure('counter', what, help, value)
  return [
    measure('gauge', 'held_units', 'Units that this worker holds.', () => state()?.held),
    counter('handover_dirty_total', 'Units that did not stop in time: repeats are possible.', () => state()?.dirty),
    counter('fences_total', 'Times that the lease ran out and all was stopped.', () => state()?.fences),
    counter('stale_assignments_total', 'Assignments of an older leader that were not taken.', () => state()?.stale),
    ...ofEach(() => of()?.leaseLowMs(), unknown),
  ]
}

function ofEach(leaseLowMs: () => number | undefined, unknown: Unknown): Measure[] {
  const low = 'What was left of the lease of this process at least since the last scrape.'
  return [
    measure('gauge', 'lease_remaining_ms', low, leaseLowMs),
    measure(
      'counter',
      'zk_outcome_unknown_total',
      'Writes to ZooKeeper that were sent and not answered.',
      unknown.count,
    ),
  ]
}

function measure(kind: 'counter' | 'gauge', what: string, help: string, value: () => number | undefined): Measure {
  return {
    kind,
    name: `millrace_fleet_${what}`,
    help,
    *read() {
      const found = value()
      if (found !== undefined) yield { labels: {}, value: found }
    },
  }
}
