import { MillraceError } from '../../engine/errors.ts'
import type { KindEntry } from '../../engine/fleet/kinds.ts'
import type { Action, AnyKind, FlowKind, FlowWorker, SteerContext, Undone, View } from '../../engine/flow/contract.ts'
import type { ClusterName, KafkaRefusal, Listed } from './kafka/broker.ts'
import type { SimKafka } from './kafka/client.ts'
import { openUnits, type UnitEvents } from './units.ts'

export type SimSpec = { topics: readonly string[]; delivery: 'at-least-once' | 'exactly-once' }
type Starts = Action & { units: readonly string[] }

/** What the simulation is told of what the leader's side does. */
export type KindEvents = UnitEvents & {
  performs(flow: string, epoch: number, units: readonly string[]): void
}

/** Units of one action. */
const startsMax = 12

/** A small kind of flow: it copies topics of the virtual Kafka; its chores fix where units begin. */
export function simKind(events: KindEvents): KindEntry {
  const kind: FlowKind<SimSpec, Listed, Starts, FlowWorker> = {
    kind: 'sim',
    lookMs: () => 10_000,
    look: (_spec, ctx) => clusterOf(ctx, 'source').ask({ ask: 'list', flow: ctx.flow }) as Promise<Listed>,
    units: (spec, view) =>
      unitsOf(spec, view)
        .filter(unit => view.stored.has(unit))
        .map(unit => ({ unit, weight: 1 })),
    steer(spec, view) {
      const units = unitsOf(spec, view).filter(unit => !view.stored.has(unit) && !view.owned.has(unit))
      return units.length > 0 ? [{ do: 'starts', units: units.slice(0, startsMax) }] : []
    },
    perform: (action, spec, _view, ctx) => perform(action, spec, ctx, events),
    pending: () => 0,
    stands: () => [],
    open: (spec, ctx) => openUnits(spec, ctx, name => clusterOf(ctx, name), events),
    report: () => ({
      ...{ topics: [], partitions: 0, notRunning: 0, partitionsUnknown: 0, lagRecords: null, lagSeconds: null },
      ...{ records: 0, bytes: 0, gapRecords: 0, skippedRecords: 0 },
    }),
    restarts: () => false,
    refuses: () => null,
  }
  return { kind: kind as unknown as AnyKind, readSpec: json => json as SimSpec }
}

function clusterOf(ctx: Pick<SteerContext, 'kafka'>, name: ClusterName): SimKafka {
  return ctx.kafka(name) as unknown as SimKafka
}

function unitsOf(spec: SimSpec, view: View<Listed>): string[] {
  return spec.topics.flatMap(topic =>
    Array.from({ length: view.topics.get(topic) ?? 0 }, (_, partition) => `${topic}/${partition}`),
  )
}

/** The start of each unit that has none; asked for again, it changes nothing. */
async function perform({ units }: Starts, spec: SimSpec, ctx: SteerContext, events: KindEvents): Promise<Undone[]> {
  const [source, destination] = [clusterOf(ctx, 'source'), clusterOf(ctx, 'destination')]
  if (!ctx.mayWrite()) throw fenced()
  events.performs(ctx.flow, ctx.epoch, units)
  const undone: Undone[] = []
  if (spec.delivery === 'at-least-once') {
    const entries = units.map(unit => [`${ctx.flow}/${unit}`, 0] as const)
    if (isRefused(await source.ask({ ask: 'commit', entries }))) throw denied()
    return undone
  }
  for (const unit of units) {
    const name = `${ctx.flow}/${unit}`
    const begun = (await destination.ask({ ask: 'init', unit: name })) as { epoch: number; checkpoint: number | null }
    if (begun.checkpoint !== null) continue
    if (!ctx.mayWrite()) throw fenced()
    events.performs(ctx.flow, ctx.epoch, [unit])
    const ended = await destination.ask({ ask: 'end', unit: name, epoch: begun.epoch, offset: 0 })
    if (isRefused(ended)) undone.push({ item: unit, error: denied() })
  }
  return undone
}

function isRefused(value: unknown): value is KafkaRefusal {
  return typeof value === 'object' && value !== null && 'refused' in value
}

function fenced(): MillraceError {
  return new MillraceError('unit-fenced', 'the leader may not write any more', { retryable: true })
}

function denied(): MillraceError {
  return new MillraceError('kafka-unreachable', 'the broker does not take it now', { retryable: true })
}
