import type { LeaderSeen } from '../../engine/fleet/leaderSeen.ts'
import { every } from '../../engine/flow/every.ts'
import { leaderLookMs } from '../../engine/limits.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { Log } from '../../engine/ports/log.ts'

/** Who leads, as this process sees it. `leading`: the epoch in which it leads itself; `seen` may be a look old. */
export type Leads = { id: string; leading(): number | null; seen(): LeaderSeen | null }

/** Says in the log whether this controller leads or stands by, whenever that changes. Gives the function that ends it. */
export function tellLeader(of: Leads, { clock, log }: { clock: Clock; log: Pick<Log, 'info'> }): () => void {
  let said = ''
  return every(clock, leaderLookMs, () => {
    const now = saying(of)
    // Who stands by and sees nobody has nothing to say of it: the next one leads within seconds.
    if (now === null && !said.startsWith('leads epoch')) return
    const text = now ?? said.replace('leads', 'leads no more: the office is over,')
    if (text === said) return
    said = text
    log.info(text)
  })
}

function saying({ id, leading, seen }: Leads): string | null {
  const epoch = leading()
  if (epoch !== null) return `leads epoch ${epoch}`
  const other = seen()
  return other === null || other.id === id ? null : `stands by behind ${other.id}, which leads epoch ${other.epoch}`
}
