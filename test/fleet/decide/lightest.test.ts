import '../../properties.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { lightestOf, type Room } from '../../../engine/fleet/decide/lightest.ts'
import type { PlanItem } from '../../../engine/fleet/decide/plan.ts'

const item = (part: string, weight: number, tag: string): PlanItem => ({
  ...{ id: '', part, weight, requires: tag === '' ? [] : [tag], movable: true },
  ...{ owner: null, inTransit: false, intent: null, wish: null },
})
const has = (place: Room, { requires }: PlanItem) => requires.every(tag => place.tags.includes(tag))

/** As the rule says it, from place to place (COORDINATION §5, step 2). */
function searched(places: readonly Room[], { part, requires }: PlanItem): Room | null {
  const fit = places.filter(place => place.units < place.unitsMax && requires.every(tag => place.tags.includes(tag)))
  const key = (place: Room) => [place.load / place.capacity, place.parts.get(part) ?? 0, place.units] as const
  return (
    fit.toSorted((a, b) => {
      const [x, y] = [key(a), key(b)]
      return x[0] - y[0] || x[1] - y[1] || x[2] - y[2] || (a.id < b.id ? -1 : 1)
    })[0] ?? null
  )
}

test('the heap finds whom a search from worker to worker finds', () => {
  const place = fc.record({
    capacity: fc.constantFrom(500, 1_000, 2_000),
    tags: fc.subarray(['x', 'y']),
    unitsMax: fc.constantFrom(2, 20_000),
    owned: fc.array(fc.constantFrom('p', 'q', 'r'), { maxLength: 4 }),
  })
  const given = fc.record({
    part: fc.constantFrom('p', 'q', 'r', 's'),
    weight: fc.constantFrom(0, 500, 1_000, 1_000, 3_000),
    tag: fc.constantFrom('', '', '', 'x', 'y'),
  })
  fc.assert(
    fc.property(fc.array(place, { maxLength: 8 }), fc.array(given, { maxLength: 40 }), (made, items) => {
      const places = made.map(({ owned, ...one }, n): Room => {
        const parts = new Map([...Map.groupBy(owned, part => part)].map(([part, all]) => [part, all.length]))
        return { ...one, id: `w${n}`, state: 'ready', load: owned.length * 500, units: owned.length, parts }
      })
      const lightest = lightestOf(places, has)
      for (const { part, weight, tag } of items) {
        const one = item(part, weight, tag)
        const found = lightest.of('ready', one)
        assert.equal(found?.id, searched(places, one)?.id)
        assert.equal(lightest.of('retiring', one), null)
        if (!found) continue
        found.load += weight
        found.units++
        found.parts.set(part, (found.parts.get(part) ?? 0) + 1)
        lightest.took(found, part)
      }
    }),
  )
})
