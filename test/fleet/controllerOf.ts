import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { type ControllerHow, startController } from '../../engine/fleet/controller.ts'
import type { DeclaredFlow } from '../../engine/fleet/decide/declared.ts'
import { readAssignment } from '../../engine/fleet/decide/documents/assignment.ts'
import { readFlow } from '../../engine/fleet/decide/documents/flow.ts'
import { readHeld } from '../../engine/fleet/decide/documents/held.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { noWishes, readWishes, type WishesDoc, writeWishes } from '../../engine/fleet/decide/documents/wishes.ts'
import { namesOf } from '../../engine/fleet/decide/units.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import type { Coordinator } from '../../engine/ports/coordinator.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { manualClock } from '../fakes/clock.ts'
import type { Asked } from '../fakes/coordinator/session.ts'
import { fakeCoordination } from '../fakes/coordinator.ts'
import { shown } from './decide/reconcileScript.ts'
import { fakeKind } from './fakeKind.ts'
import { fleetByHand, workerOf } from './workerOf.ts'

/** Controllers and workers over one coordinator in memory, on one clock that stands still by itself. */
export function fleetOf(more: { delayMsMax?: number } = {}) {
  const clock = manualClock()
  const heard = new Set<(asked: Asked) => void>()
  const seen = (asked: Asked) => {
    for (const tell of heard) tell(asked)
  }
  const coordination = fakeCoordination({ clock, delayMsMax: more.delayMsMax ?? 0, seen })
  const hand = fleetByHand(clock, coordination)
  const declared = new Map<string, DeclaredFlow>()
  const text = (path: string) => coordination.tree.read(path)?.data ?? null

  function assigned(id: string): string[] {
    const found = text(paths.assignment(id))
    return found === null ? [] : namesOf(readAssignment(found, id).units)
  }

  function controller(id: string, how: Partial<ControllerHow> = {}) {
    const fake = fakeKind()
    const stop = new AbortController()
    const events: [string | null, FlowEvent][] = []
    const sessions: Coordinator[] = []
    const listeners = new Set<() => void>()
    const running = startController({
      identity: { id, url: `http://${id}`, software: '1' },
      open() {
        const session = coordination.open()
        sessions.push(session)
        return session
      },
      ...{ sessionMs: 10_000, codec, crc: crc32c, clock, chance: () => 0.5, uptimeMs: clock.nowMs },
      kinds: { fake: { kind: fake.kind, readSpec: json => json } },
      declared: () => declared,
      onDeclared: listener => void listeners.add(listener),
      ...{ exports: null, store: null },
      kafka: () => ({ cut() {} }) as unknown as KafkaCluster,
      stop: stop.signal,
      abort: new AbortController().signal,
      tell: (flow, event) => void events.push([flow, event]),
      ...how,
    })
    const end: { done: boolean; error: unknown } = { done: false, error: null }
    running.done.then(
      () => {
        end.done = true
      },
      error => {
        end.error = error
      },
    )
    return {
      ...{ id, fake, stop, events, sessions, controller: running, end },
      edited() {
        for (const listener of listeners) listener()
      },
      session: () => sessions.at(-1) as Coordinator,
      leads: () => running.known() !== null,
    }
  }

  return {
    ...{ clock, coordination, declared, text, assigned, controller },
    worker: (id: string) => workerOf({ clock, coordination, id }),
    /** Each write of more than a beat that arrives from this session; told a moment after it was done. */
    onWrite(session: () => Coordinator, told: () => void) {
      heard.add(asked => {
        if (asked.do === 'write' && asked.session === session()) queueMicrotask(told)
      })
    },
    put: hand.put,
    flow: hand.flow,
    declare(name: string, spec: object = {}, overlay = noOverlay) {
      declared.set(name, { kind: 'fake', spec: spec as never, overlay })
    },
    flowDoc: (name: string) => readFlow(text(paths.flow(name)) ?? '', name),
    held: (id: string) => readHeld(text(paths.held(id)) ?? '', id),
    wish(change: (wishes: WishesDoc) => Partial<WishesDoc>) {
      const before = text(paths.wishes)
      const doc = before === null ? noWishes : readWishes(before, 'wishes')
      hand.put(paths.wishes, writeWishes({ ...doc, ...change(doc) }))
    },
    wishes: () => readWishes(text(paths.wishes) ?? '', 'wishes'),
    epoch: () => JSON.parse(text(paths.epoch) ?? '{}').epoch as number,
    /** `a = f/t/0-1, b = -`. */
    owners: (...ids: string[]) => ids.map(id => `${id} = ${shown(assigned(id))}`).join(', '),
    /** Units that no document has twice. */
    twice(ids: readonly string[]): string[] {
      const all = ids.flatMap(assigned)
      return all.filter((unit, at) => all.indexOf(unit) !== at)
    },
  }
}
