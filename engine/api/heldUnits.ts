import { pause } from '../flow/pause.ts'
import { partOf } from '../flow/unitName.ts'
import { heldLookMs } from '../limits.ts'
import type { Ask } from './route.ts'

/** Which of a flow's units somebody may still act on: `/held` is the truth (C-43); in one process what runs. */
export async function heldOf(
  ask: Pick<Ask, 'parts' | 'seen'>,
  flow: string,
  isMeant: (topic: string, partition: number) => boolean,
): Promise<string[]> {
  const running = ask.parts.known()?.running?.(flow)
  const units = running === undefined ? await inDocuments(ask, flow) : [...running]
  return units.filter(unit => {
    const { topic, partition } = partOf(unit)
    return isMeant(topic, partition)
  })
}

async function inDocuments({ seen }: Pick<Ask, 'seen'>, flow: string): Promise<string[]> {
  const units = new Set<string>()
  for (const found of (await seen.helds()).values()) {
    if (!('doc' in found) || found.doc.state === 'left') continue
    for (const [part, numbers] of found.doc.units.get(flow) ?? []) for (const n of numbers) units.add(`${part}/${n}`)
  }
  return [...units]
}

/** Until nothing of it is held, at most so long; gives how much still is. */
export async function untilFree(
  ask: Pick<Ask, 'parts' | 'seen' | 'signal'>,
  ms: number,
  held: () => Promise<string[]>,
): Promise<number> {
  const { clock } = ask.parts
  const endMs = clock.nowMs() + ms
  for (;;) {
    const { length } = await held()
    const leftMs = endMs - clock.nowMs()
    if (length === 0 || leftMs <= 0 || ask.signal.aborted) return length
    await pause(clock, Math.min(heldLookMs, leftMs), ask.signal)
  }
}
