import { MillraceError } from '../../engine/errors.ts'
import type {
  Action,
  AnyKind,
  FlowWorker,
  Measured,
  OffsetsWish,
  ReportNow,
  Undone,
  UnitContext,
  View,
} from '../../engine/flow/contract.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { partOf } from '../../engine/flow/unitName.ts'

/** What the fake shows of itself in its look. */
export type Shown = { units: string[]; pending: number }
export type FakeAction = Action & { items?: string[] }
type Running = { ctx: UnitContext; end(): void; fail(error: unknown): void }

export const transient = (message = 'no answer') => new MillraceError('kafka-unreachable', message, { retryable: true })
export const lasting = (message = 'no right') => new MillraceError('kafka-not-authorized', message)

const plain: Omit<Measured, 'unit'> = {
  ...{ bytesPerSecond: 0, lagRecords: 0, state: 'running', code: null, offset: null, sinceMs: 0 },
}

/**
 * A kind of flow without any outside: its units run until they are told to end or to fail, or until their stop when
 * `leaves`; its actions are those of `steer`.
 */
export function fakeKind() {
  const fake = {
    shown: { units: [], pending: 0 } as Shown,
    leaves: true,
    whole: true,
    looks: 0,
    look: async (): Promise<Shown> => ({ ...fake.shown, units: [...fake.shown.units] }),
    steer: (_view: View<Shown>): FakeAction[] => [],
    perform: async (_action: FakeAction, _view: View<Shown>): Promise<Undone[]> => [],
    units: (view: View<Shown>): string[] => view.units,
    stands: [] as FlowEvent[],
    refuses: false,
    restarts: false,
    running: new Map<string, Running>(),
    /** What is not as it is with every unit: `running` since 0, without bytes and lag. */
    measured: new Map<string, Partial<Measured>>(),
    /** `+a/0` began, `-a/0` ended, `left a/0`, `open`, `close`. */
    log: [] as string[],
    specs: [] as unknown[],
    offsetsAsked: [] as OffsetsWish[],
  }
  const has = new Set<string>()
  const worker: FlowWorker = {
    run(unit, ctx) {
      has.add(unit)
      fake.log.push(`+${unit}`)
      return new Promise<void>((resolve, reject) => {
        const ended = () => {
          fake.running.delete(unit)
          fake.log.push(`-${unit}`)
        }
        const one: Running = {
          ctx,
          end: () => {
            ended()
            resolve()
          },
          fail: error => {
            ended()
            reject(error)
          },
        }
        fake.running.set(unit, one)
        ctx.stop.addEventListener('abort', () => fake.leaves && fake.running.get(unit) === one && one.end())
      })
    },
    left(unit) {
      has.delete(unit)
      fake.log.push(`left ${unit}`)
    },
    measured: () => [...has].map(unit => ({ unit, ...plain, ...fake.measured.get(unit) })),
    async close() {
      fake.log.push('close')
      return fake.whole
    },
  }
  const kind: AnyKind = {
    kind: 'fake',
    lookMs: () => 10_000,
    async look() {
      fake.looks++
      return await fake.look()
    },
    units: (_spec, view) => fake.units(view as View<Shown>).map(unit => ({ unit, weight: 1 })),
    steer: (_spec, view) => fake.steer(view as View<Shown>),
    perform: (action, _spec, view) => fake.perform(action, view as View<Shown>),
    pending: (_spec, view) => (view as View<Shown>).pending,
    stands: () => fake.stands,
    open(spec) {
      fake.log.push('open')
      fake.specs.push(spec)
      return worker
    },
    report: (_spec, view, _worker, now) => reportOf(view as View<Shown> | null, now),
    parts: (_spec, view) => (view as View<Shown>).units,
    async setOffsets(wish) {
      fake.offsetsAsked.push(wish)
      return [...wish.units].map(unit => ({ ...partOf(unit), before: 1n, after: 2n, fault: null }))
    },
    restarts: () => fake.restarts,
    refuses: () => (fake.refuses ? { code: 'config-invalid', message: 'not now', hint: null } : null),
  }
  return Object.assign(fake, {
    kind,
    worker,
    unit(name: string): Running {
      const found = fake.running.get(name)
      if (!found) throw new Error(`${name} does not run`)
      return found
    },
    /** What has been logged since the last time. */
    said: (): string[] => fake.log.splice(0),
  })
}

/** A unit that nothing is told of is `waiting`. */
function reportOf(view: View<Shown> | null, { seen }: ReportNow) {
  const states = (view?.units ?? []).map(unit => seen?.(unit)?.state ?? 'waiting')
  const lags = (view?.units ?? []).map(unit => seen?.(unit)?.lagRecords ?? null).filter(lag => lag !== null)
  return {
    ...{ topics: [], partitions: states.length, notRunning: states.filter(state => state !== 'running').length },
    ...{ partitionsUnknown: states.length - lags.length, lagSeconds: null },
    lagRecords: lags.length === 0 ? null : lags.reduce((sum, lag) => sum + lag, 0),
    ...{ records: 0, bytes: 0, gapRecords: 0, skippedRecords: 0 },
  }
}
