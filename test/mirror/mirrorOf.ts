import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { type Solo, startSolo } from '../../engine/fleet/solo.ts'
import type { View } from '../../engine/flow/contract.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { noOverlay, type Overlay } from '../../engine/flow/overlay.ts'
import type { Gaps } from '../../engine/flow/position.ts'
import type { FlowReport } from '../../engine/flow/report.ts'
import { kinds } from '../../engine/kinds.ts'
import type { MirrorLook } from '../../engine/mirror/look.ts'
import type { Rights } from '../../engine/mirror/rights.ts'
import type { Unit } from '../../engine/mirror/run.ts'
import { type MirrorSpec, mirrorSpec } from '../../engine/mirror/spec.ts'
import type { MirrorWorker } from '../../engine/mirror/worker.ts'
import type { Chance } from '../../engine/ports/clock.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeKafka } from '../fakes/kafka/cluster.ts'

type Running = { solo: Solo; stop: AbortController; abort: AbortController }

/** A flow of topic `t` from `east` to `west`, both in memory, with one account, on one clock, in one process. */
export function mirrorOf(how: {
  brokers: number
  account?: MemoryAccount
  chance?: Chance
  untilEnd?: boolean
  gaps?: Gaps
  /** More of the spec, as it stands in a file. */
  spec?: Record<string, unknown>
}) {
  const clock = manualClock()
  const { account = new MemoryAccount({ poison: true }), chance = () => 0.5, brokers } = how
  const [east, west] = ['east', 'west'].map(name => fakeKafka({ clock, name, brokers, account, chance }))
  if (!east || !west) throw new Error('two clusters')
  const events: FlowEvent[] = []
  let running: Running | null = null
  let spec = specOf(how.spec ?? {})
  let overlay: Overlay = noOverlay

  function specOf(more: Record<string, unknown>): MirrorSpec {
    const topics = { include: ['t'], refreshMs: 1_000 }
    return mirrorSpec.parse({ from: 'east', to: 'west', topics, gaps: how.gaps ?? 'continue', ...more })
  }
  const plans = () => {
    const { mirror } = kinds
    if (!mirror) throw new Error('no mirror')
    return new Map([['flow', { kind: mirror, spec, overlay }]])
  }
  const open = (): Running => {
    const stop = new AbortController()
    const abort = new AbortController()
    const solo = startSolo(plans(), {
      kafka: name => (name === 'east' ? east : west),
      untilEnd: how.untilEnd ?? false,
      clock,
      chance,
      codec,
      crc: crc32c,
      stop: stop.signal,
      abort: abort.signal,
      tell: (_flow, event) => events.push(event),
      broke() {},
    })
    solo.done.catch(() => {})
    return { stop, abort, solo }
  }
  /** Lets the clock go on until the promise has ended. */
  const over = async <T>(promise: Promise<T>): Promise<T> => {
    let ended = false
    const mark = () => {
      ended = true
    }
    promise.then(mark, mark)
    await clock.until(() => ended)
    return promise
  }
  const flow = () => [...(running?.solo.flows() ?? [])][0]
  const worker = () => flow()?.worker as MirrorWorker | undefined
  const unitsOf = (): Unit[] => [...(worker()?.units.values() ?? [])]
  return {
    clock,
    east,
    west,
    events,
    over,
    worker,
    units: (): Iterable<Unit> => unitsOf().filter(unit => unit.held),
    /** What the leader's side sees now, and the spec it steers by. */
    seen: () => ({ spec, view: (flow()?.view() ?? null) as View<MirrorLook & Rights> | null }),
    report: (): FlowReport | null => flow()?.report() ?? null,
    /** Until all partitions of the topics there are now have a unit that has begun. */
    async start() {
      running = open()
      await clock.until(() => flow()?.report().topics.length !== 0 && unitsOf().length > 0)
    },
    /** Starts, and waits for nothing. */
    begin() {
      running = open()
    },
    change(next: { spec?: Record<string, unknown>; overlay?: Overlay }) {
      if (next.spec) spec = specOf(next.spec)
      if (next.overlay) overlay = next.overlay
      return running?.solo.apply(plans()) ?? []
    },
    /** Waits for the flow to end by itself. */
    async ended(): Promise<FlowReport & { whole: boolean }> {
      if (!running) throw new Error('it does not run')
      const { solo } = running
      const reported = [...solo.flows()][0]
      running = null
      const { whole } = await over(solo.done)
      if (!reported) throw new Error('it has no flow')
      return { ...reported.report(), whole }
    },
    /** Ends the flow: after the last acknowledgement, or at once. */
    async stop(hard = false) {
      if (!running) return
      const { solo, stop, abort } = running
      running = null
      stop.abort()
      if (hard) abort.abort()
      await over(solo.done)
    },
  }
}
