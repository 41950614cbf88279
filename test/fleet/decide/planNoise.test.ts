import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PlanItem, type PlanView, type PlanWorker, plan } from '../../../engine/fleet/decide/plan.ts'
import { average, steadyWeight } from '../../../engine/fleet/decide/weight.ts'
import { seeded } from '../../../rig/seeded.ts'

const workers = (count: number): PlanWorker[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ id: `w${String(n).padStart(3, '0')}`, state: 'ready', capacity: 1_000, tags: [], unitsMax: 20_000 },
  }))
const items = (count: number, weightOf: (n: number) => number): PlanItem[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{ id: `f/t${n >> 4}/${n & 15}`, part: `f/t${n >> 4}`, weight: weightOf(n), requires: [], movable: true },
    ...{ owner: null, inTransit: false, intent: null, wish: null },
  }))

/** Rounds until nothing is done any more, each release at once. */
function settled(view: PlanView): PlanView {
  for (let rounds = 0, settling = false; rounds < 60; rounds++) {
    const found = plan({ ...view, settling })
    if (found.give.length + found.withdraw.length === 0) return view
    settling = found.more
    const to = new Map([...found.give, ...found.withdraw].map(one => [one.id, one.to]))
    view = { ...view, items: view.items.map(item => ({ ...item, owner: to.get(item.id) ?? item.owner })) }
  }
  return assert.fail('it does not settle within 60 rounds')
}

/** Moves in so many rounds in which each unit's rate is another one. */
function movesUnder(noise: (used: number, base: number, random: () => number) => number, rounds: number): number {
  const random = seeded(7)
  const base = Array.from({ length: 200 }, () => 1_000 + Math.floor(random() * 100_000))
  let view = settled({
    workers: workers(5),
    items: items(200, n => base[n] ?? 0),
    auto: true,
    force: false,
    settling: false,
  })
  let moves = 0
  for (let round = 0; round < rounds; round++) {
    view = {
      ...view,
      items: view.items.map((item, n) => ({ ...item, weight: noise(item.weight, base[n] ?? 0, random) })),
    }
    moves += plan(view).withdraw.length
  }
  return moves
}

test('COORDINATION 2: rates that go up and down by a tenth move nothing', () => {
  const noise = (used: number, base: number, random: () => number) =>
    steadyWeight(used, Math.round(base * (0.9 + random() * 0.2)))
  assert.equal(movesUnder(noise, 1_000), 0)
})

test('COORDINATION 2: rates that go up and down by a fifth move nothing when they are averaged', () => {
  const averages = new Map<number, number>()
  const noise = (used: number, base: number, random: () => number) => {
    const before = averages.get(base) ?? base
    const now = average(before, Math.round(base * (0.8 + random() * 0.4)), 10_000)
    averages.set(base, now)
    return steadyWeight(used, now)
  }
  assert.equal(movesUnder(noise, 300), 0)
})

test('COORDINATION 2: twenty thousand units on fifty workers, with deaths, joins, drains and new weights', () => {
  const random = seeded(3)
  const weights = Array.from({ length: 20_000 }, () => 4_096 + Math.floor(random() * 1_000_000))
  let view = settled({
    workers: workers(50),
    items: items(20_000, n => weights[n] ?? 0),
    auto: true,
    force: false,
    settling: false,
  })
  for (let step = 0; step < 8; step++) {
    const at = Math.floor(random() * view.workers.length)
    const of = ['die', 'join', 'drain', 'weigh'][step % 4]
    if (of === 'die') view = { ...view, workers: view.workers.filter((_, n) => n !== at) }
    if (of === 'join')
      view = { ...view, workers: [...view.workers, { ...(workers(1)[0] as PlanWorker), id: `j${step}` }] }
    if (of === 'weigh')
      view = { ...view, items: view.items.map(item => (random() < 0.1 ? { ...item, weight: item.weight * 2 } : item)) }
    if (of === 'drain') {
      // Fifty moves a round: so large a worker is empty after eight rounds.
      view = {
        ...view,
        workers: view.workers.map((one, n) => (n === at ? { ...one, state: 'draining' as const } : one)),
      }
    }
    view = settled(view)
    const ready = new Set(view.workers.filter(one => one.state === 'ready').map(one => one.id))
    assert.ok(view.items.every(item => item.owner !== null && ready.has(item.owner)))
  }
})
