import '../../properties.ts'
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import fc from 'fast-check'
import { type Plan, type PlanItem, type PlanView, type PlanWorker, plan } from '../../../engine/fleet/decide/plan.ts'

type More = { auto?: boolean; force?: boolean; settling?: boolean; movesMax?: number }
type Told = { workers: string; items: string } & More

/** `a b:3000 c!draining[gpu]` and `t0·10@a>b?c` = weight 10, owned by a, in transit or intent b, wish c; part = no digits. */
function viewOf({ workers, items, auto = true, force = false, settling = false }: Told): PlanView {
  const parsed = workers
    .split(' ')
    .filter(Boolean)
    .map((word): PlanWorker => {
      const [, id = '', capacity, state, tags] = /^(\w+)(?::(\d+))?(?:!(\w+))?(?:\[(\w+)\])?$/.exec(word) ?? []
      const known = (state ?? 'ready') as PlanWorker['state']
      return { id, state: known, capacity: Number(capacity ?? 1000), tags: tags ? [tags] : [], unitsMax: 20_000 }
    })
  const things = items
    .split(' ')
    .filter(Boolean)
    .map((word): PlanItem => {
      const [, id = '', weight, owner, transit, intent, wish, needs] =
        /^(\w+)·(\d+)(?:@(\w+))?(?:>(\w+))?(?:~(\w+))?(?:\?(\w+))?(?:\[(\w+)\])?$/.exec(word) ?? []
      return {
        id,
        part: id.replace(/\d+/g, ''),
        weight: Number(weight),
        requires: needs ? [needs] : [],
        movable: true,
        owner: transit ? null : (owner ?? null),
        inTransit: transit !== undefined,
        intent: transit ?? intent ?? null,
        wish: wish ?? null,
      }
    })
  return { workers: parsed, items: things, auto, force, settling }
}

function told(found: Plan): string {
  const gives = found.give.map(({ id, to }) => `${id}→${to}`)
  const moves = found.withdraw.map(({ id, from, to }) => `${id} ${from}→${to}`)
  const unplaced = found.unplaced.map(({ id, why }) => `${id} ${why}`)
  return [gives.join(' '), moves.join(', '), unplaced.join(', '), found.why].filter(Boolean).join(' | ')
}

const vectors: [workers: string, items: string, expected: string, more?: More][] = [
  ['a b', 't0·10 t1·10 t2·10 s0·30', 's0→a t0→b t1→b t2→b | gave'],
  ['a b', 't0·10@a t1·10@b t2·10@x t3·10@x t4·25@x', 't4→a t2→b t3→b | gave'],
  ['a b:3000', 't0·10 t1·10 t2·10 t3·10 t4·10 t5·10 t6·10 t7·10', 't0→a t1→b t2→b t3→b t4→a t5→b t6→b t7→b | gave'],
  ['a b c', 't0·10@a t1·10@a t2·10@a t3·10@b t4·10@b t5·10@b', 't0 a→c, t3 b→c | balance'],
  ['a b', 't0·11@a t1·11@a s0·10@b s1·9@b', 'steady'],
  ['a b', 't0·12@a t1·12@a s0·8@b s1·8@b', 'no-gain'],
  ['a b', 't0·5@a t1·5@a t2·5@a t3·5@a t4·5@a s0·15@b', 't0 a→b | balance'],
  ['a b c', 'hot0·1000@a t0·10@a t1·10@a t2·10@b t3·10@b t4·10@c t5·10@c', 't0 a→b, t1 a→c | balance'],
  ['a b c', 'hot0·1000@a t0·10@b t1·10@b t2·10@c t3·10@c', 'steady'],
  ['a[gpu] b', 't0·10[gpu] t1·10[gpu] t2·10[eu] t3·10 t4·10', 't0→a t1→a t3→b t4→b | t2 no-tag | gave'],
  ['a!draining b c', 't0·10@a t1·20@a t2·10@b t3·20@c', 't1 a→b, t0 a→c | leaving'],
  ['a!draining b c', 't0·10@a t1·20@a t2·10@b t3·20@c', 't1 a→b | leaving', { movesMax: 1 }],
  ['a b', 't0·10>b t1·10@a t2·10@a t3·10@a', 'transit'],
  ['a b', 't0·10~a t1·10@a t2·10@b', 't0→a | gave'],
  ['a!draining b', 't0·10~a t2·10@b', 't0→b | gave'],
  ['a b', 't0·10@a t1·10@a?b s0·10@b s1·10@b', 't1 a→b | leaving'],
  ['a b', 't0·10@a t1·10@a t2·10@a t3·10@x', 't3→b | gave', { auto: false }],
  ['a b', 't0·10@a t1·10@a t2·10@a t3·10@b', 'off', { auto: false }],
  ['a!retiring b', 't0·10@b t1·10@b t2·10', 't2→b | gave'],
  ['a b', 't0·40@a t1·30@a t2·20@a t3·10@a', 't0 a→b, t3 a→b | balance'],
  ['a!draining', 't0·10@a', 'few'],
  ['', 't0·10', 't0 no-worker | few'],
]

describe('COORDINATION 1: the vectors of the planner', () => {
  for (const [workers, items, expected, more = {}] of vectors) {
    it(`${workers} with ${items}: ${expected}`, () => {
      const view = deepFrozen(viewOf({ workers, items, ...more }))
      assert.equal(told(plan(view, more.movesMax)), expected)
      for (let n = 0; n < 20; n++) {
        const shuffled = { ...view, workers: turned(view.workers, n), items: turned(view.items, n * 7) }
        assert.equal(told(plan(shuffled, more.movesMax)), expected)
      }
    })
  }
})

function turned<T>(list: readonly T[], by: number): T[] {
  const at = list.length === 0 ? 0 : by % list.length
  const rotated = [...list.slice(at), ...list.slice(0, at)]
  return by % 2 ? rotated.reverse() : rotated
}

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFrozen(inner)
    Object.freeze(value)
  }
  return value
}

/** Rounds until nothing is done any more; what is withdrawn is free at once. */
function run(view: PlanView): { moves: number; rounds: number; view: PlanView; last: Plan } {
  let moves = 0
  let settling = false
  for (let rounds = 1; ; rounds++) {
    const found = plan({ ...view, settling })
    moves += found.withdraw.length
    view = { ...view, items: applied(view.items, found) }
    settling = found.more
    if ((found.give.length === 0 && found.withdraw.length === 0) || rounds > 200)
      return { moves, rounds, view, last: found }
  }
}

function applied(items: readonly PlanItem[], found: Plan): PlanItem[] {
  const to = new Map([...found.give.map(g => [g.id, g.to] as const), ...found.withdraw.map(w => [w.id, w.to] as const)])
  return items.map(item => (to.has(item.id) ? { ...item, owner: to.get(item.id) ?? null } : item))
}

const equalUnits = (counts: Record<string, number>): PlanItem[] =>
  Object.entries(counts).flatMap(([owner, count]) =>
    Array.from({ length: count }, (_, n) => ({
      id: `${owner}/${String(n).padStart(4, '0')}`,
      part: owner,
      weight: 4_096,
      requires: [],
      movable: true,
      owner,
      inTransit: false,
      intent: null,
      wish: null,
    })),
  )
const fleet = (ids: string): PlanWorker[] => viewOf({ workers: ids, items: '' }).workers as PlanWorker[]

test('COORDINATION 1: an empty worker beside three with a hundred units each gets exactly 75, in two rounds of moves', () => {
  const { moves, view, rounds } = run({
    ...viewOf({ workers: 'a b c d', items: '' }),
    items: equalUnits({ a: 100, b: 100, c: 100 }),
  })
  assert.deepEqual([moves, rounds], [75, 3])
  const counts = Map.groupBy(view.items, item => item.owner)
  assert.deepEqual([...counts].map(([id, items]) => [id, items.length]).sort(), [
    ['a', 75],
    ['b', 75],
    ['c', 75],
    ['d', 75],
  ])
})

test('ten workers of thirty and an empty one: 27 moves; of four with fifty one dies: 50 gives and no move', () => {
  const ten = 'abcdefghij'.split('')
  const items = equalUnits(Object.fromEntries(ten.map(id => [id, 30])))
  assert.equal(
    run({ workers: fleet([...ten, 'k'].join(' ')), items, auto: true, force: false, settling: false }).moves,
    27,
  )
  const dead = equalUnits({ a: 50, b: 50, c: 50, d: 50 })
  const after = plan({ workers: fleet('a b c'), items: dead, auto: true, force: false, settling: false })
  assert.deepEqual([after.give.length, after.withdraw.length], [50, 0])
  assert.deepEqual([...after.loads.values()].map(load => load / 4_096).sort(), [66, 67, 67])
})

for (const first of ['stop', 'start'] as const) {
  test(`of a rolling restart that begins with a ${first} each of like units moves twice at most`, () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f']
    const equal = equalUnits(Object.fromEntries(ids.map(id => [id, 10])))
    // Some came long ago, when others left.
    const items = equal.map((item, n) => (first === 'stop' && n % 3 === 0 ? { ...item, guest: 0 } : item))
    let view: PlanView = { ...viewOf({ workers: ids.join(' '), items: '' }), items }
    let round = 0
    const moves = new Map<string, number>()
    const settle = (workers: readonly PlanWorker[]) => {
      round++
      const after = run({ ...view, workers }).view
      const settled = after.items.map((item, n): PlanItem => {
        const before = view.items[n]?.owner
        if (item.owner === before) return item
        moves.set(item.id, (moves.get(item.id) ?? 0) + 1)
        return { ...item, guest: workers.some(({ id }) => id === before) ? null : round }
      })
      view = { ...after, items: settled }
    }
    for (const id of ids) {
      const without = view.workers.filter(worker => worker.id !== id)
      const next = fleet(`${id}2`)
      settle(first === 'stop' ? without : [...view.workers, ...next])
      settle([...without, ...next])
    }
    assert.equal(Math.max(...moves.values()), 2)
  })
}

test('COORDINATION 2: after any deaths, joins, drains and new weights every unit is owned once, and the rounds end', () => {
  const step = fc.record({
    what: fc.constantFrom('die', 'join', 'drain', 'weigh'),
    which: fc.nat(1_000),
    weight: fc.integer({ min: 1, max: 100_000 }),
  })
  const made = fc.record({
    capacities: fc.array(fc.constantFrom(500, 1_000, 2_000), { minLength: 2, maxLength: 9 }),
    weights: fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 5, maxLength: 60 }),
    steps: fc.array(step, { maxLength: 12 }),
  })
  fc.assert(
    fc.property(made, ({ capacities, weights, steps }) => {
      let workers: PlanWorker[] = capacities.map((capacity, n) => ({
        ...(fleet('w')[0] as PlanWorker),
        id: `w${n}`,
        capacity,
      }))
      let items: PlanItem[] = weights.map((weight, n) => ({
        ...(equalUnits({ x: 1 })[0] as PlanItem),
        id: `u${n}`,
        weight,
      }))
      for (const { what, which, weight } of steps) {
        const worker = workers[which % workers.length]
        if (what === 'die' && workers.length > 1) workers = workers.filter(one => one !== worker)
        else if (what === 'join')
          workers = [...workers, { ...(fleet('w')[0] as PlanWorker), id: `j${which}-${workers.length}` }]
        else if (what === 'drain')
          workers = workers.map(one => (one === worker ? { ...one, state: 'draining' as const } : one))
        else items = items.map((item, n) => (n === which % items.length ? { ...item, weight } : item))
        const ended = run({ workers, items, auto: true, force: false, settling: false })
        items = [...ended.view.items]
        assert.ok(ended.rounds <= 60, `${ended.rounds} rounds`)
        const ready = workers.some(one => one.state === 'ready')
        for (const item of items) {
          const owner = workers.find(one => one.id === item.owner)
          assert.ok(!ready || owner !== undefined)
          assert.ok(!ready || owner?.state === 'ready')
        }
      }
    }),
  )
})
