import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import type { FaultCode } from '../../engine/errors.ts'
import { writeAssignment } from '../../engine/fleet/decide/documents/assignment.ts'
import { noFlowOverlay, writeFlow } from '../../engine/fleet/decide/documents/flow.ts'
import { type HeldDoc, readHeld } from '../../engine/fleet/decide/documents/held.ts'
import { paths, roots } from '../../engine/fleet/decide/documents/paths.ts'
import { readWorker } from '../../engine/fleet/decide/documents/worker.ts'
import { namesOf, unitsOf } from '../../engine/fleet/decide/units.ts'
import type { Kinds } from '../../engine/fleet/kinds.ts'
import { startFleetWorker } from '../../engine/fleet/worker.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import type { Coordinator } from '../../engine/ports/coordinator.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { type ManualClock, manualClock } from '../fakes/clock.ts'
import { type FakeCoordination, fakeCoordination } from '../fakes/coordinator.ts'
import { fakeKind } from './fakeKind.ts'

/** The documents of a fleet, written by hand where a leader would. */
export function fleetByHand(clock: ManualClock, fake: FakeCoordination) {
  const { tree } = fake
  const put = (path: string, data: string) => {
    const op = { path, data } as const
    const found = tree.read(path)
    const written = tree.write(
      [found ? { do: 'set', version: null, ...op } : { do: 'create', mode: 'persistent', ...op }],
      'by hand',
    )
    if (!written.done) throw new Error(`${path}: ${written.refused.why}`)
  }
  for (const path of roots) put(path, '')
  return {
    put,
    flow(name: string, more: { spec?: unknown; kind?: string; paused?: '*' } = {}) {
      const { spec = {}, kind = 'fake', paused } = more
      const overlay = paused ? { ...noFlowOverlay, paused } : noFlowOverlay
      const changedBy = { atMs: clock.nowMs(), by: 'test' }
      const doc = { kind, origin: 'api', changedBy, spec: spec as never, overlay, deleting: false, rest: new Map() }
      put(paths.flow(name), writeFlow(doc))
    },
    /** Units as `flow/part/n`; their flows at the tags that they have now. */
    assign(id: string, generation: number, units: readonly string[], epoch = 1) {
      const flows = [...new Set(units.map(unit => unit.split('/')[0] ?? ''))]
      const specs = new Map(flows.map(flow => [flow, tree.read(paths.flow(flow))?.tag ?? '']))
      put(paths.assignment(id), writeAssignment({ epoch, generation, chunks: 0, units: unitsOf(units), specs }))
    },
    held(id: string): HeldDoc & { names: string[] } {
      const doc = readHeld(tree.read(paths.held(id))?.data ?? '', paths.held(id))
      return { ...doc, names: namesOf(doc.units).sort() }
    },
    worker: (id: string) => {
      const node = tree.read(paths.worker(id))
      return node && { ...readWorker(node.data, paths.worker(id)), version: node.version, owner: node.owner }
    },
  }
}

/** A worker with a fake kind, on a coordinator in memory. */
export function workerOf(
  more: {
    clock?: ManualClock
    coordination?: FakeCoordination
    id?: string
    kinds?: Kinds
    delayMsMax?: number
    kafka?: (cluster: string) => KafkaCluster
  } = {},
) {
  const { clock = manualClock(), id = 'w' } = more
  const coordination = more.coordination ?? fakeCoordination({ clock, delayMsMax: more.delayMsMax ?? 0 })
  const hand = fleetByHand(clock, coordination)
  const fake = fakeKind()
  const kinds = more.kinds ?? {
    fake: { kind: fake.kind, readSpec: (json: unknown) => json, specFaults: () => [] },
  }
  const stop = new AbortController()
  const abort = new AbortController()
  const machine = { suspendedMs: 0 }
  const events: [string | null, FlowEvent][] = []
  const cuts = { count: 0 }
  const sessions: Coordinator[] = []
  const worker = startFleetWorker({
    identity: {
      ...{ id, address: '127.0.0.1:1', capacity: 1_000, revision: 'r', software: '1', tags: [], task: 't' },
      unitsMax: 20_000,
    },
    open() {
      const session = coordination.open()
      sessions.push(session)
      return session
    },
    ...{ sessionMs: 10_000, kinds, codec, crc: crc32c, clock, chance: () => 0.5 },
    uptimeMs: () => clock.nowMs() + machine.suspendedMs,
    kafka: more.kafka ?? (() => ({ cut: () => void cuts.count++ }) as KafkaCluster),
    stop: stop.signal,
    abort: abort.signal,
    tell: (flow, event) => void events.push([flow, event]),
  })
  const end: { result: { whole: boolean } | null; error: { code?: FaultCode } | null } = { result: null, error: null }
  worker.done.then(
    result => {
      end.result = result
    },
    error => {
      end.error = error as { code?: FaultCode }
    },
  )
  return {
    ...{ clock, coordination, fake, stop, abort, machine, events, cuts, sessions, worker, end, id },
    flow: hand.flow,
    put: hand.put,
    assign: (generation: number, units: readonly string[], epoch = 1) => hand.assign(id, generation, units, epoch),
    held: () => hand.held(id),
    node: () => hand.worker(id),
    session(): Coordinator {
      const last = sessions.at(-1)
      if (!last) throw new Error('no session')
      return last
    },
    runs: () => [...fake.running.keys()].sort(),
    async registered() {
      await clock.until(() => worker.state().registered, 30_000)
    },
  }
}
