import type { Chance } from '../../engine/ports/clock.ts'
import { seeded } from '../../rig/seeded.ts'
import { pop, push } from '../fakes/timerHeap.ts'

/**
 * Virtual time and the one order in which everything of a simulation happens (C-110). After each event that has run
 * code of a process, promises settle before the next: the same seed gives the same events, byte for byte.
 */
export type World = {
  nowMs(): number
  chance: Chance
  /** 0 ≤ x < 1 below which something happens. */
  happens(share: number): boolean
  /** A time between the two. */
  spanMs(fromMs: number, toMs: number): number
  pick<T>(from: readonly T[]): T
  /** Runs once at that time; gives what cancels it. */
  at(atMs: number, run: () => void): () => void
  after(ms: number, run: () => void): () => void
  /** Code of a process is about to run: promises settle before the next event. */
  touched(): void
  /** A line of what has happened. */
  note(text: string): void
  trace: Trace
  events(): number
  /** Called after each event, when its promises have settled. */
  afterEach(check: () => void): void
  /** The next turn throws this. */
  fail(error: unknown): void
  /** Ends at that time, or with what an event or a check throws. */
  run(untilMs: number): Promise<void>
}

export type Trace = {
  /** The last of them, oldest first. */
  last(): string[]
  /** Of all lines so far: equal traces have equal sums. */
  sum(): string
  lines(): number
  /** Called with each line. */
  tell: ((line: string) => void) | null
}

type Event = { atMs: number; order: number; run: (() => void) | null }

/** More than twice what a seed has (C-111): something spins. */
const eventsMax = 100_000

/** Lines that a failure shows (C-113). */
const linesKept = 200

export function makeWorld(seed: number): World {
  const chance = seeded(seed)
  const heap: Event[] = []
  const trace = makeTrace()
  let nowMs = 0
  let order = 0
  let ran = 0
  let isTouched = false
  const checks: (() => void)[] = []
  let broken: { error: unknown } | null = null

  function at(atMs: number, run: () => void): () => void {
    const event: Event = { atMs: Math.max(nowMs, atMs), order: order++, run }
    push(heap, event)
    return () => {
      event.run = null
    }
  }

  /** Up to the next event whose promises have to settle; true: there are more. */
  function goOn(untilMs: number): boolean {
    if (broken) throw broken.error
    for (const check of checks) check()
    for (;;) {
      const first = heap[0]
      if (!first || first.atMs > untilMs) return false
      pop(heap)
      if (first.run === null) continue
      nowMs = first.atMs
      if (++ran > eventsMax) throw new Error(`more than ${eventsMax} events: something spins`)
      isTouched = false
      first.run()
      if (isTouched) return true
      for (const check of checks) check()
    }
  }

  return {
    nowMs: () => nowMs,
    chance,
    happens: share => chance() < share,
    spanMs: (fromMs, toMs) => fromMs + chance() * (toMs - fromMs),
    pick: from => from[Math.floor(chance() * from.length)] as (typeof from)[number],
    at,
    after: (ms, run) => at(nowMs + Math.max(0, ms), run),
    touched: () => {
      isTouched = true
    },
    note: text => trace.add(`${nowMs.toFixed(3)} ${text}`),
    trace,
    events: () => ran,
    fail(error) {
      broken ??= { error }
    },
    afterEach: check => void checks.push(check),
    run: untilMs =>
      new Promise((resolve, reject) => {
        const turn = () => {
          try {
            if (goOn(untilMs)) setImmediate(turn)
            else {
              nowMs = untilMs
              resolve()
            }
          } catch (error) {
            reject(error)
          }
        }
        // A turn of the event loop comes after every promise that is settled, however long the chain.
        setImmediate(turn)
      }),
  }
}

function makeTrace(): Trace & { add(line: string): void } {
  const ring: string[] = []
  let count = 0
  let low = 0x811c9dc5
  let high = 0x9747b28c
  const trace = {
    tell: null as ((line: string) => void) | null,
    add(line: string): void {
      ring[count % linesKept] = line
      count++
      for (let at = 0; at < line.length; at++) {
        const code = line.charCodeAt(at)
        low = Math.imul(low ^ code, 0x01000193)
        high = Math.imul(high ^ code, 0x5bd1e995)
      }
      trace.tell?.(line)
    },
    last: () =>
      count <= linesKept ? [...ring] : [...ring.slice(count % linesKept), ...ring.slice(0, count % linesKept)],
    sum: () => `${(low >>> 0).toString(16)}-${(high >>> 0).toString(16)}-${count}`,
    lines: () => count,
  }
  return trace
}
