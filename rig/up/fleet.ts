import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { every } from '../../engine/flow/every.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import { prettyLine } from '../../engine/process/pretty.ts'
import type { Clusters } from './check.ts'
import { type FleetSeen, fleetTable } from './fleetTable.ts'
import { type JsonLine, runMillrace } from './millrace.ts'
import { redrawn } from './redrawn.ts'

const fleetWorkers = 3
const lookMs = 1_000

/**
 * One controller and three workers under the command that people use (COORDINATION), until the stop. At a terminal a
 * live table of who holds what; else the command's own JSON lines, and one for each change of what a worker holds.
 */
export async function steadyFleet(
  of: { clusters: Clusters; zookeeper: string; pattern: string; clock: Clock },
  stop: AbortSignal,
): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-up-'))
  const file = join(folder, 'millrace.yaml')
  const atTerminal = process.stderr.isTTY === true
  try {
    await writeFile(file, configText(of))
    const args = ['run', '-c', file, '--workers', String(fleetWorkers)]
    const watch = watchFleet(of.clock, atTerminal)
    try {
      const onLine = (line: JsonLine) => {
        watch.line(line)
        if (!atTerminal) process.stdout.write(`${JSON.stringify(line)}\n`)
      }
      const onLog = (line: JsonLine) => {
        if (line['level'] !== 'info') watch.above(prettyLine(line))
      }
      return await runMillrace(args, { onLine, onLog: atTerminal ? onLog : null, quiet: atTerminal }, stop)
    } finally {
      watch.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function configText({ clusters, zookeeper, pattern }: { clusters: Clusters; zookeeper: string; pattern: string }) {
  const brokers = (text: string) => JSON.stringify(text.split(','))
  return `clusters:
  east: { brokers: ${brokers(clusters.from)} }
  west: { brokers: ${brokers(clusters.to)} }
coordination: { zookeeper: ${JSON.stringify(zookeeper)} }
api: { listen: "127.0.0.1:0" }
flows:
  demo:
    kind: mirror
    from: east
    to: west
    topics: { include: [${JSON.stringify(pattern)}] }
`
}

/** Asks the API each second who holds what. */
function watchFleet(clock: Clock, atTerminal: boolean) {
  const screen = redrawn(process.stderr)
  const pids = new Map<string, number>()
  const startedMs = clock.nowMs()
  let url: string | null = null
  let before = ''
  let looking = false

  async function look(): Promise<void> {
    if (url === null || looking) return
    looking = true
    try {
      const seen = await seenAt(url)
      if (atTerminal) return screen.draw(fleetTable(seen, { pids, url, seconds: (clock.nowMs() - startedMs) / 1_000 }))
      const held = Object.fromEntries(seen.workers.map(({ id, held }) => [id, held]))
      if (JSON.stringify(held) === before) return
      before = JSON.stringify(held)
      process.stdout.write(`${JSON.stringify({ type: 'held', at: new Date(clock.wallMs()).toISOString(), held })}\n`)
    } catch {
      // It does not answer this second: what was shown stands.
    } finally {
      looking = false
    }
  }

  const cancel = every(clock, lookMs, () => void look())
  return {
    line(line: JsonLine): void {
      if (line['type'] !== 'started') return
      if (line['process'] === 'controller') url = String(line['url'])
      else pids.set(String(line['id']), Number(line['pid']))
    },
    above: screen.above,
    close(): void {
      cancel()
    },
  }
}

async function seenAt(url: string): Promise<FleetSeen> {
  const ask = async (path: string) => {
    const answer = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(lookMs) })
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`)
    return answer.json()
  }
  const [status, workers] = await Promise.all([ask('/v1/status'), ask('/v1/workers')])
  const { leader, epoch, flows } = status as Pick<FleetSeen, 'leader' | 'epoch' | 'flows'>
  return { leader, epoch, flows, workers: (workers as Pick<FleetSeen, 'workers'>).workers }
}
