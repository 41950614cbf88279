import { MillraceError } from '../../engine/errors.ts'
import type { FlowWorker, Measured, UnitContext, WorkerContext } from '../../engine/flow/contract.ts'
import { every } from '../../engine/flow/every.ts'
import { pause } from '../../engine/flow/pause.ts'
import type { ClusterName } from './kafka/broker.ts'
import type { SimKafka } from './kafka/client.ts'
import type { SimSpec } from './kind.ts'

/** What the simulation is told of the units of a process. */
export type UnitEvents = {
  began(unit: string): void
  ended(unit: string): void
  /** In the turn in which it is sent. */
  sends(what: 'produce' | 'commit', units: readonly string[]): void
}

type Unit = {
  name: string
  /** Next to send, next to be acknowledged, last stored. */
  at: number
  acked: number
  stored: number | null
  /** It stores its checkpoint until then although it has not changed (C-11). */
  repeatUntilMs: number
  epoch: number | null
  unanswered: number
  broken: MillraceError | null
  /** Called when something of it has changed. */
  wake: () => void
}

const checkpointMs = 1_000
const repeatMs = 60_000
const againMs = 100
/** So few that no weight moves a unit. */
const bytesPerSecond = 10

/** Fetch → produce → acknowledgement → commit, with the lease asked at each send (C-6). */
export function openUnits(
  spec: SimSpec,
  ctx: WorkerContext,
  cluster: (name: ClusterName) => SimKafka,
  events: UnitEvents,
): FlowWorker {
  const { clock, flow } = ctx
  const [source, destination] = [cluster('source'), cluster('destination')]
  const units = new Map<string, Unit>()
  const exactlyOnce = spec.delivery === 'exactly-once'
  let isFetching = false
  let busy: Promise<void> | null = null
  const end = every(clock, checkpointMs, () => void commit([...units.values()]))

  /** One request for all of them. */
  function fetch(): void {
    const at = [...units.values()].filter(unit => unit.at === unit.acked && !unit.broken)
    if (isFetching || at.length === 0) return
    isFetching = true
    const request = { ask: 'fetch', at: at.map(({ name, at }) => [name, at] as const) } as const
    void source.ask(request).then(
      found => {
        isFetching = false
        for (const [name, to] of found as [string, number][]) {
          const unit = units.get(name)
          const asked = request.at.find(one => one[0] === name)
          if (unit && unit.at === asked?.[1]) send(unit, to)
        }
        fetch()
      },
      () => {
        isFetching = false
        clock.after(againMs, fetch)
      },
    )
  }

  function send(unit: Unit, to: number): void {
    if (!ctx.mayWrite()) {
      clock.after(againMs, () => units.get(unit.name) === unit && unit.at < to && !unit.broken && send(unit, to))
      return
    }
    const from = unit.at
    unit.at = to
    events.sends('produce', [unit.name])
    const produced = destination.ask({ ask: 'produce', unit: unit.name, from, to, epoch: unit.epoch })
    if (unit.epoch === null) return wait(unit, to, produced)
    wait(unit, null, produced)
    wait(unit, to, destination.ask({ ask: 'end', unit: unit.name, epoch: unit.epoch, offset: to }))
  }

  function wait(unit: Unit, to: number | null, answer: Promise<unknown>): void {
    unit.unanswered++
    void answer.then(
      value => {
        unit.unanswered--
        if (value !== null) unit.broken ??= new MillraceError('unit-fenced', unit.name, { retryable: true })
        else if (to !== null) {
          unit.acked = to
          if (unit.epoch !== null) unit.stored = to
        }
        unit.wake()
        fetch()
      },
      (error: MillraceError) => {
        unit.unanswered--
        unit.broken ??= error
        unit.wake()
      },
    )
  }

  /** One request at a time; until it is answered nobody knows which one is stored. */
  async function commit(all: readonly Unit[]): Promise<void> {
    const nowMs = clock.nowMs()
    const due = all.filter(unit => unit.epoch === null && (unit.stored !== unit.acked || nowMs < unit.repeatUntilMs))
    if (busy !== null || due.length === 0 || !ctx.mayCommit()) return busy ?? undefined
    const entries = due.map(unit => [unit.name, unit.acked] as const)
    const names = due.map(unit => unit.name)
    events.sends('commit', names)
    for (const unit of due) unit.stored = null
    busy = source
      .ask({ ask: 'commit', entries })
      .then(
        () => {
          for (const [index, unit] of due.entries()) unit.stored = entries[index]?.[1] ?? null
        },
        () => {},
      )
      .finally(() => {
        busy = null
      })
    await busy
  }

  async function begin(name: string): Promise<Unit> {
    const loaded = exactlyOnce
      ? ((await destination.ask({ ask: 'init', unit: name })) as { epoch: number; checkpoint: number | null })
      : { epoch: null, checkpoint: (await source.ask({ ask: 'load', unit: name })) as number | null }
    const { epoch, checkpoint: at } = loaded
    if (at === null) throw new MillraceError('checkpoint-lost', `${name} has no checkpoint`)
    const repeatUntilMs = clock.nowMs() + repeatMs
    return { name, at, acked: at, stored: null, repeatUntilMs, epoch, unanswered: 0, broken: null, wake() {} }
  }

  /** Until stop or abort, or what breaks it. */
  async function copy(unit: Unit, { stop, abort, progress }: UnitContext): Promise<void> {
    units.set(unit.name, unit)
    void commit([unit])
    fetch()
    const wake = () => unit.wake()
    stop.addEventListener('abort', wake)
    abort.addEventListener('abort', wake)
    while (!stop.aborted && !abort.aborted && !unit.broken) {
      await new Promise<void>(resolve => {
        unit.wake = resolve
      })
      progress()
    }
    units.delete(unit.name)
    // What was fetched and not sent is dropped; what was sent is waited for.
    while (unit.unanswered > 0 && !abort.aborted && !unit.broken) {
      await new Promise<void>(resolve => {
        unit.wake = resolve
      })
    }
    stop.removeEventListener('abort', wake)
    abort.removeEventListener('abort', wake)
    if (!abort.aborted) await settle(unit, abort)
    // What was not answered by now is answered by nobody (C-44).
    if (abort.aborted && (unit.unanswered > 0 || busy !== null)) for (const one of [source, destination]) one.cut()
    if (stop.aborted) return
    throw unit.broken ?? new MillraceError('unit-fenced', `${unit.name}: cut off`, { retryable: true })
  }

  async function settle(unit: Unit, abort: AbortSignal): Promise<void> {
    while (!abort.aborted && unit.epoch === null && unit.stored !== unit.acked) {
      const aborted = pause(clock, 30_000, abort)
      await Promise.race([commit([unit]), aborted])
      if (unit.stored !== unit.acked) await pause(clock, againMs, abort)
    }
  }

  return {
    async run(unit, run) {
      const name = `${flow}/${unit}`
      events.began(name)
      try {
        const begun = await Promise.race([begin(name), aborted(run.stop), aborted(run.abort)])
        if (begun !== null) await copy(begun, run)
      } finally {
        events.ended(name)
      }
    },
    left() {},
    *measured(nowMs): Iterable<Measured> {
      for (const { name } of units.values()) {
        const unit = name.slice(flow.length + 1)
        const state = 'running'
        yield { unit, bytesPerSecond, lagRecords: 0, state, code: null, offset: null, sinceMs: nowMs }
      }
    },
    async close() {
      end()
      return true
    },
  }
}

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve(null)
    signal.addEventListener('abort', () => resolve(null), { once: true })
    return undefined
  })
}
