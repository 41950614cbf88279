import assert from 'node:assert/strict'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { memoryCoordinator } from '../../engine/adapters/memory/coordinator.ts'
import { memoryTree } from '../../engine/adapters/memory/tree.ts'
import { type Fault, MillraceError } from '../../engine/errors.ts'
import type { DeclaredFlow } from '../../engine/fleet/decide/declared.ts'
import { type FlowDoc, noFlowOverlay, readFlow, writeFlow } from '../../engine/fleet/decide/documents/flow.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { stateExports } from '../../engine/fleet/exports.ts'
import type { FlowClash } from '../../engine/fleet/kinds.ts'
import { remembering } from '../../engine/fleet/remembered.ts'
import { startSolo } from '../../engine/fleet/solo.ts'
import { startSoloDocuments } from '../../engine/fleet/soloDocuments.ts'
import { soloKnown } from '../../engine/fleet/soloKnown.ts'
import { takeSoloOffice } from '../../engine/fleet/soloOffice.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { noOverlay, type Overlay } from '../../engine/flow/overlay.ts'
import type { ObjectStore } from '../../engine/ports/store.ts'
import { type ManualClock, manualClock } from '../fakes/clock.ts'
import { fakeKind } from './fakeKind.ts'

/** Of flows with one `writes`. */
function clashes(flows: ReadonlyMap<string, unknown>): FlowClash[] {
  const writers = new Map<string, string>()
  return [...flows].flatMap(([flow, spec]) => {
    const { writes: topic } = spec as { writes?: string }
    if (topic === undefined) return []
    const other = writers.get(topic)
    writers.set(topic, other ?? flow)
    return other === undefined ? [] : [{ flow, other, topic }]
  })
}

export const declaredFlow = (spec: object = {}, overlay: Overlay = noOverlay): DeclaredFlow => ({
  ...{ kind: 'fake', spec: spec as never, overlay },
})

/**
 * One process as `millrace run` puts it together, over a store or none, with one fake kind: what it runs, by
 * `flow unit`. It stands when it resolves, or waits for its store.
 */
export async function soloProcess(more: { store?: ObjectStore; clock?: ManualClock; tags?: string[] } = {}) {
  const { store, clock = manualClock(), tags = [] } = more
  const fake = fakeKind()
  fake.shown.units.push('t/0', 't/1')
  const stop = new AbortController()
  const events: [string | null, FlowEvent][] = []
  const tell = (flow: string | null, event: FlowEvent) => void events.push([flow, event])
  const kind = { ...fake.kind }
  /** The side of each flow that runs units: a fake of its own. */
  const sides = new Map<string, ReturnType<typeof fakeKind>>()
  kind.open = (spec, ctx) => {
    if ((spec as { to?: string }).to === 'nowhere') ctx.kafka('nowhere')
    const side = fakeKind()
    sides.set(ctx.flow, side)
    return side.kind.open(spec, ctx)
  }
  const kinds = { fake: { kind, readSpec: (json: unknown) => ({ ...(json as object) }), clashes } }
  const memory = memoryCoordinator(memoryTree(), { session: 's', timeoutMs: 10_000 })
  const coordinator = store ? remembering(memory, stateExports(store, { clock, keepsVersions: false })) : memory
  const chance = () => 0.5
  const state: { trouble: Fault | null; epoch: number | null } = { trouble: null, epoch: null }
  const begun = begin()
  begun.catch(() => {})

  async function begin() {
    const trouble = (fault: Fault | null) => {
      state.trouble = fault
    }
    state.epoch = await takeSoloOffice({ ...{ coordinator, id: 'me', clock, chance, stop: stop.signal, trouble } })
    let nudge = () => {}
    const solo = startSolo(new Map(), {
      ...{ clock, codec, crc: crc32c, stop: stop.signal, abort: stop.signal, untilEnd: false, chance, tell },
      kafka(name) {
        throw new MillraceError('config-invalid', `there is no cluster '${name}'`)
      },
      broke: (flow, error) => tell(flow, { code: 'broke', message: String(error) }),
      over: () => nudge(),
    })
    const documents = startSoloDocuments({
      ...{ coordinator, kinds, tags, solo, clock, chance, stop: stop.signal, tell },
      fatal(error) {
        throw error
      },
    })
    nudge = documents.nudge
    const place = { address: null, revision: '1', software: '1', task: 'me', leaseMs: 10_000, startedAtMs: 1, tags }
    const record = { ...place, id: 'me', capacity: 1_000, state: 'ready' as const, unitsMax: 100 }
    const known = soloKnown({ epoch: state.epoch ?? 0, record, solo, documents, clock })
    return { solo, documents, known }
  }
  await clock.settle()

  async function doc(flow: string): Promise<FlowDoc | null> {
    const node = await memory.read(paths.flow(flow))
    return node && readFlow(node.data, flow)
  }

  /** As the API does it. */
  async function change(flow: string, to: Partial<FlowDoc>): Promise<void> {
    const before = await doc(flow)
    const blank = { kind: 'fake', origin: 'api', spec: {}, overlay: noFlowOverlay, deleting: false, rest: new Map() }
    const changedBy = { atMs: clock.wallMs(), by: 'api:local' }
    const data = writeFlow({ ...(before ?? blank), changedBy, ...to })
    const path = paths.flow(flow)
    const op = before
      ? ({ do: 'set', path, data, version: null } as const)
      : ({ do: 'create', path, data, mode: 'persistent' } as const)
    assert.ok((await coordinator.write([op])).done)
    await clock.settle()
  }

  return {
    ...{ clock, fake, kind, stop, events, memory, coordinator, begun, state, doc, change },
    side(flow: string) {
      const side = sides.get(flow)
      assert.ok(side)
      return side
    },
    /** `f t/0, f t/1`. */
    runs: () =>
      [...sides]
        .flatMap(([flow, { running }]) => [...running.keys()].map(unit => `${flow} ${unit}`))
        .sort()
        .join(', '),
    codes: () => events.map(([flow, { code }]) => `${flow ?? '-'} ${code}`),
    /** The flows of the file by name; gives what stands against it. */
    async declare(flows: Record<string, DeclaredFlow>) {
      const { documents } = await begun
      const { refused, written } = await documents.declare(new Map(Object.entries(flows)), () => {})
      const end = { written: false }
      void written.then(() => {
        end.written = true
      })
      await clock.settle()
      return { refused: refused.map(({ flow, fault }) => `${flow}: ${fault.message}`), end }
    },
    async killed() {
      stop.abort()
      await clock.settle()
    },
  }
}
