import type { FlowEvent } from '../flow/event.ts'
import { partOf } from '../flow/unitName.ts'
import { eventFlowsMax, flowEventsMax } from '../limits.ts'
import type { HeldError } from './decide/documents/held.ts'
import { flowOf, withinFlow } from './decide/observed.ts'

/** What happened in a flow, and when; `worker`: who has reported it. */
export type KeptEvent = FlowEvent & { atMs: number; worker: string | null }

/** The last events of each flow, as this process has heard of them (M-94). */
export type FlowEvents = {
  note(flow: string, event: FlowEvent, wallMs: number): void
  /** What workers report (C-37): each error once, for as long as it stands. */
  reported(workers: ReadonlyMap<string, { held: { errors: readonly HeldError[] } | null }>): void
  /** The newest last. */
  of(flow: string): readonly KeptEvent[]
}

export function flowEvents(): FlowEvents {
  const kept = new Map<string, KeptEvent[]>()
  let standing = new Set<string>()

  function keep(flow: string, event: KeptEvent): void {
    const before = kept.get(flow) ?? []
    // Of flows that are long gone nobody asks: the one that was quiet for longest goes first.
    kept.delete(flow)
    kept.set(flow, [...before, event].slice(-flowEventsMax))
    const [quiet] = kept.keys()
    if (kept.size > eventFlowsMax && quiet !== undefined) kept.delete(quiet)
  }

  return {
    note: (flow, event, wallMs) => keep(flow, { ...event, atMs: wallMs, worker: null }),
    reported(workers) {
      const now = new Set<string>()
      for (const [worker, { held }] of workers) {
        for (const error of held?.errors ?? []) {
          const key = `${worker} ${error.unit} ${error.code} ${error.sinceMs}`
          now.add(key)
          if (!standing.has(key)) keep(flowOf(error.unit), eventOf(worker, error))
        }
      }
      standing = now
    },
    of: flow => kept.get(flow) ?? [],
  }
}

function eventOf(worker: string, { unit, code, sinceMs, offset }: HeldError): KeptEvent {
  const { topic, partition } = partOf(withinFlow(unit))
  const at = offset === null ? '' : ` at offset ${offset}`
  const message = `${topic}/${partition} does not run on ${worker}: ${code}${at}`
  const where = { topic, partition, ...(offset === null ? {} : { offset: BigInt(offset) }) }
  return { code, message, ...where, state: 'error', atMs: sinceMs, worker }
}
