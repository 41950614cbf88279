import { every } from '../../engine/flow/every.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import { liveTable, type Seen, seenIn } from './liveTable.ts'
import { redrawn } from './redrawn.ts'

const drawMs = 1_000

/** A table that is drawn over itself each second, with what has to be said above it. */
export function liveScreen(
  stream: { write(text: string): unknown; columns?: number },
  clock: Clock,
): { watch(url: string): void; above(line: string): void; close(): void } {
  const startedMs = clock.nowMs()
  let before: Seen | null = null
  const screen = redrawn(stream)
  let cancel = () => {}
  let drawing = false

  async function draw(url: string): Promise<void> {
    if (drawing) return
    drawing = true
    try {
      const answer = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(drawMs) })
      const now = seenIn(await answer.text(), clock.nowMs())
      screen.draw(liveTable(before ?? now, now, { startedMs, columns: stream.columns ?? 80 }))
      before = now
    } catch {
      // It does not answer this second: the table stands.
    } finally {
      drawing = false
    }
  }

  return {
    watch(url) {
      cancel()
      cancel = every(clock, drawMs, () => void draw(url))
    },
    above: screen.above,
    close: () => cancel(),
  }
}
