import { noWishes } from '../engine/fleet/decide/documents/wishes.ts'
import { type Memory, newMemory } from '../engine/fleet/decide/memory.ts'
import { multisOf } from '../engine/fleet/decide/multis.ts'
import type { Assigned, Held, Observed, SeenDoc, SeenFlow, SeenWorker } from '../engine/fleet/decide/observed.ts'
import { type Plan, type PlanItem, type PlanView, type PlanWorker, plan } from '../engine/fleet/decide/plan.ts'
import { reconcile } from '../engine/fleet/decide/reconcile.ts'
import { noOverlay } from '../engine/flow/overlay.ts'

/**
 * CPU of the leader (COORDINATION C-59): `npm run bench:plan`. The planner from nothing, after the death of one worker
 * and at the steady check; and a whole round around it, with the documents that it writes. The median of five, in ms.
 */
const sizes: [items: number, workers: number][] = [
  [20_000, 50],
  [40_000, 50],
  [20_000, 200],
  [200_000, 1_000],
]
const runs = 5

const workersOf = (count: number): PlanWorker[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ id: `w-${String(n).padStart(4, '0')}`, state: 'ready', capacity: 1_000, tags: [], unitsMax: 20_000 },
  }))

const weightOf = (n: number, weights: 'equal' | 'various') =>
  weights === 'equal' ? 4_096 : 4_096 + ((n * 7_919) % 1_000_003)

/** Topics of 32 partitions; weights all alike, or of every size. */
const itemsOf = (count: number, weights: 'equal' | 'various'): PlanItem[] =>
  Array.from({ length: count }, (_, n) => {
    const part = `flow/topic-${n >> 5}`
    return {
      ...{ id: `${part}/${n & 31}`, part, weight: weightOf(n, weights) },
      ...{ requires: [], movable: true, owner: null, inTransit: false, intent: null, wish: null },
    }
  })

function medianMs(work: () => unknown): string {
  const times = Array.from({ length: runs }, () => {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  })
  return `${(times.sort((a, b) => a - b)[runs >> 1] ?? 0).toFixed(0)} ms`
}

function row(name: string, weights: string, cells: readonly string[]): void {
  console.log(`${name.padEnd(16)}${weights.padEnd(9)}${cells.map(cell => cell.padStart(16)).join('')}`)
}

function owned(view: PlanView, found: Plan): PlanItem[] {
  const to = new Map(found.give.map(give => [give.id, give.to]))
  return view.items.map(item => ({ ...item, owner: to.get(item.id) ?? item.owner }))
}

function planner(): void {
  row('plan', 'weights', ['from nothing', 'after a death', 'steady'])
  for (const weights of ['equal', 'various'] as const) {
    for (const [count, fleet] of sizes) {
      const view: PlanView = {
        ...{ workers: workersOf(fleet), items: itemsOf(count, weights), settling: false, force: false, auto: true },
      }
      const placed: PlanView = { ...view, items: owned(view, plan(view)) }
      const dead: PlanView = { ...placed, workers: placed.workers.slice(1) }
      row(
        `${count} × ${fleet}`,
        weights,
        [view, dead, placed].map(one => medianMs(() => plan(one))),
      )
    }
  }
}

/** What a leader sees of such a fleet at `nowMs`; nobody has anything yet. */
function observedOf(count: number, fleet: number): Observed {
  const units = new Map(itemsOf(count, 'equal').map(({ id }) => [id, { weight: 1, movable: true, requires: [] }]))
  const workers = new Map<string, SeenWorker>()
  for (const { id, capacity, tags, unitsMax } of workersOf(fleet)) {
    const doc = { id, address: null, capacity, leaseMs: 7_000, revision: '', software: '', startedAtMs: 0 }
    const record = { ...doc, state: 'ready' as const, tags, task: '', unitsMax }
    workers.set(id, { version: 0, created: id, atMs: 0, doc: record })
  }
  const flow: SeenFlow = {
    ...{ tag: '1', units, overlay: noOverlay, requires: [], deleting: false, reserved: new Set<string>() },
    ...{ looksBegun: 1, lookedAt: 1 },
  }
  return {
    ...{ workers, assignments: new Map(), helds: new Map(), wishes: noWishes, flows: new Map([['flow', flow]]) },
    ...{ weightOf: () => 4_096, stuck: new Set<string>(), doubtful: new Set<string>() },
    ...{ answeredSinceMs: 0, sessionMs: 10_000 },
  }
}

/** The same after a round was written, and every worker has taken its document. */
function written(memory: Memory, observed: Observed, nowMs: number): { memory: Memory; observed: Observed } {
  const found = reconcile(memory, observed, nowMs)
  const assignments = new Map<string, SeenDoc<Assigned>>(observed.assignments)
  const helds = new Map<string, SeenDoc<Held>>(observed.helds)
  for (const { id, units, specs } of found.writes?.assignments ?? []) {
    const { epoch, generation } = found.memory
    assignments.set(id, { version: generation, doc: { epoch, generation, units, specs, chunks: 0 } })
    helds.set(id, { version: generation, doc: { epoch, generation, units, state: 'running', errors: [] } })
  }
  return { memory: found.memory, observed: { ...observed, assignments, helds } }
}

function rounds(): void {
  row('round', '', ['from nothing', 'after a death', 'steady', 'writes (death)'])
  for (const [count, fleet] of sizes) {
    const start = written(newMemory(1, 0), observedOf(count, fleet), 0)
    const at = 2_000
    const all = written(start.memory, start.observed, at)
    const steady = written(all.memory, all.observed, at + 100)
    const late = new Map(
      [...steady.observed.workers].map(([id, one], n) => [id, n === 0 ? one : { ...one, version: 1, atMs: 9_000 }]),
    )
    const dying = { ...steady.observed, workers: late }
    const round = (memory: Memory, observed: Observed, nowMs: number) => {
      const { writes } = reconcile(memory, observed, nowMs)
      return writes === null ? [] : multisOf(writes, 0)
    }
    row(`${count} × ${fleet}`, '', [
      medianMs(() => round(start.memory, start.observed, at)),
      medianMs(() => round(steady.memory, dying, 9_500)),
      medianMs(() => round(steady.memory, steady.observed, at + 200)),
      String(round(steady.memory, dying, 9_500).length),
    ])
  }
}

planner()
rounds()
