import type { PlanItem, PlanWorker } from './plan.ts'

/** A worker as the round goes on. */
export type Room = PlanWorker & { load: number; units: number; parts: Map<string, number> }

/**
 * Of the places that may take an item the one with the lowest load ÷ capacity; ties: fewest units of the part, fewest
 * units, lowest id. A heap for each set of tags that is asked for: a search from place to place takes ten seconds for
 * 200 000 units on 1 000 workers (C-59). Loads only grow while it is used, so what stands in a heap is never too heavy.
 */
export type Lightest<P extends Room> = {
  of(state: PlanWorker['state'], item: PlanItem): P | null
  /** It has one more unit of that part now. */
  took(place: P, part: string): void
}

type Entry<P> = { place: P; rank: number; ratio: number; units: number }
/** How many places have so many units of a part, and the lowest such number. */
type Spread = { places: number[]; min: number }

/** `places` in the order of their ids. */
export function lightestOf<P extends Room>(
  places: readonly P[],
  mayHave: (place: P, item: PlanItem) => boolean,
): Lightest<P> {
  const heaps = new Map<string, Entry<P>[]>()
  const spreads = spreadsOf(places)

  function heapFor(state: PlanWorker['state'], item: PlanItem): Entry<P>[] {
    const key = `${state} ${item.requires.join(' ')}`
    let heap = heaps.get(key)
    if (!heap) {
      heap = places.flatMap((place, rank) =>
        place.state === state && mayHave(place, item) ? [{ place, rank, ...weighed(place) }] : [],
      )
      for (let at = heap.length >> 1; at >= 0; at--) sink(heap, at)
      heaps.set(key, heap)
    }
    return heap
  }

  return {
    of(state, item) {
      const heap = heapFor(state, item)
      const least = spreads.get(item.part)?.min ?? 0
      const aside: Entry<P>[] = []
      let best: { entry: Entry<P>; count: number } | null = null
      for (let top = fresh(heap); top; top = fresh(heap)) {
        if (best && top.ratio > best.entry.ratio) break
        const count = top.place.parts.get(item.part) ?? 0
        if (best === null || count < best.count) best = { entry: top, count }
        // Nobody has fewer of this part, and those that follow have more units or a higher id.
        if (count <= least) break
        aside.push(top)
        drop(heap)
      }
      for (const entry of aside) add(heap, entry)
      return best?.entry.place ?? null
    },
    took(place, part) {
      const now = place.parts.get(part) ?? 0
      const spread = spreads.get(part) ?? { places: [places.length], min: 0 }
      spreads.set(part, spread)
      spread.places[now - 1] = (spread.places[now - 1] ?? 0) - 1
      spread.places[now] = (spread.places[now] ?? 0) + 1
      while (spread.min < now && spread.places[spread.min] === 0) spread.min++
    },
  }
}

function spreadsOf(places: readonly Room[]): Map<string, Spread> {
  const spreads = new Map<string, Spread>()
  for (const { parts } of places) {
    for (const [part, count] of parts) {
      const spread = spreads.get(part) ?? { places: [places.length], min: 0 }
      spreads.set(part, spread)
      spread.places[0] = (spread.places[0] ?? 0) - 1
      spread.places[count] = (spread.places[count] ?? 0) + 1
    }
  }
  for (const spread of spreads.values()) while ((spread.places[spread.min] ?? 0) === 0) spread.min++
  return spreads
}

function weighed({ load, capacity, units }: Room): { ratio: number; units: number } {
  return { ratio: load / capacity, units }
}

/** The lightest by what it weighs now; full ones go for good. */
function fresh<P extends Room>(heap: Entry<P>[]): Entry<P> | null {
  for (let top = heap[0]; top; top = heap[0]) {
    const { place } = top
    if (place.units >= place.unitsMax) drop(heap)
    else if (top.units === place.units && top.ratio === place.load / place.capacity) return top
    else {
      Object.assign(top, weighed(place))
      sink(heap, 0)
    }
  }
  return null
}

function before(a: Entry<unknown>, b: Entry<unknown>): boolean {
  if (a.ratio !== b.ratio) return a.ratio < b.ratio
  return a.units !== b.units ? a.units < b.units : a.rank < b.rank
}

function drop(heap: Entry<unknown>[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  heap[0] = last
  sink(heap, 0)
}

function add<P>(heap: Entry<P>[], entry: Entry<P>): void {
  let at = heap.push(entry) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    const above = heap[parent] as Entry<P>
    if (!before(entry, above)) break
    heap[at] = above
    heap[parent] = entry
    at = parent
  }
}

function sink(heap: Entry<unknown>[], from: number): void {
  const entry = heap[from]
  if (entry === undefined) return
  let at = from
  for (;;) {
    let child = 2 * at + 1
    const [left, right] = [heap[child], heap[child + 1]]
    if (left === undefined) break
    if (right !== undefined && before(right, left)) child++
    const least = heap[child] as Entry<unknown>
    if (!before(least, entry)) break
    heap[at] = least
    heap[child] = entry
    at = child
  }
}
