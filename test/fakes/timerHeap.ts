/** What happens at a time; of two at one moment the one that was put in first. */
type Timed = { atMs: number; order: number }

function before(a: Timed, b: Timed): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
}

/** The next one stands first. */
export function push<T extends Timed>(heap: T[], timed: T): void {
  let at = heap.length
  heap.push(timed)
  while (at > 0) {
    const parent = (at - 1) >> 1
    const above = heap[parent] as T
    if (!before(timed, above)) break
    heap[at] = above
    at = parent
  }
  heap[at] = timed
}

/** Takes the first away. */
export function pop<T extends Timed>(heap: T[]): void {
  const last = heap.pop()
  if (!last || heap.length === 0) return
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && before(heap[child + 1] as T, heap[child] as T)) child++
    if (!before(heap[child] as T, last)) break
    heap[at] = heap[child] as T
    at = child
  }
  heap[at] = last
}
