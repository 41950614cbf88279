import { readFileSync } from 'node:fs'

/** How often it is looked at: nothing tells of the end of a process that is not ours. */
const lookMs = 500

/**
 * Calls `ended` when one of those that started us is gone: npm, its shell, `./dev`, as far as they are of our process
 * group, so that a terminal may be closed behind `nohup`. Killed, they hand nothing on, and we would run on for
 * minutes with all our brokers. Without `/proc` only our parent is seen.
 */
export function whenAncestorEnds(ended: () => void): void {
  const chain = ancestors()
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent && chain.every(({ pid, parent }) => relationOf(pid)?.parent === parent)) return
    clearInterval(timer)
    ended()
  }, lookMs).unref()
}

type Relation = { parent: number; group: number }

function ancestors(): { pid: number; parent: number }[] {
  const group = relationOf(process.pid)?.group
  const found: { pid: number; parent: number }[] = []
  let pid = process.ppid
  for (let one = relationOf(pid); one !== null && one.group === group; one = relationOf(pid)) {
    // The leader of the group is started by whoever wants it, and may outlive that.
    if (pid === group) break
    found.push({ pid, parent: one.parent })
    pid = one.parent
  }
  return found
}

/** `12 (name) S <parent> <group> …`: the name may hold anything, a bracket too. Null: gone, or no `/proc`. */
function relationOf(pid: number): Relation | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [, parent, group] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { parent: Number(parent), group: Number(group) }
  } catch {
    return null
  }
}
