import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { every } from '../../engine/flow/every.ts'
import { pause } from '../../engine/flow/pause.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import { prettyLine } from '../../engine/process/pretty.ts'
import type { Running } from '../part.ts'
import type { Clusters } from './check.ts'
import { type FleetSeen, fleetTable, type ProcessSeen } from './fleetTable.ts'
import { type JsonLine, runMillrace } from './millrace.ts'
import { redrawn } from './redrawn.ts'

const fleetWorkers = 3
const lookMs = 1_000
/** So long a part that was killed is away: long enough to see what the fleet does. */
const reviveMs = 5_000
const foreverMs = 2 ** 31 - 1

/** A part of the rig that people may kill. */
export type Killable = Pick<Running<unknown>, 'name' | 'pids' | 'exited' | 'restart'>

/**
 * One controller and three workers under the command that people use (COORDINATION), until the stop. At a terminal a
 * live table of who holds what; else the command's own JSON lines, and one for each change of what a worker holds.
 * `parts`: what of it somebody kills is started again, so that anything may be broken and watched.
 */
export async function steadyFleet(
  of: { clusters: Clusters; zookeeper: string; pattern: string; clock: Clock; parts: readonly Killable[]; dir: string },
  stop: AbortSignal,
): Promise<number> {
  // The rig's own folder goes with it, however it ends.
  const file = join(of.dir, 'millrace.yaml')
  const atTerminal = process.stderr.isTTY === true
  const ended = new AbortController()
  const until = AbortSignal.any([stop, ended.signal])
  const watch = watchFleet(of, atTerminal)
  try {
    await writeFile(file, configText(of))
    const args = ['run', '-c', file, '--workers', String(fleetWorkers)]
    const onLine = (line: JsonLine) => {
      watch.line(line)
      if (!atTerminal) process.stdout.write(`${JSON.stringify(line)}\n`)
    }
    const onLog = (line: JsonLine) => {
      if (line['level'] !== 'info') watch.above(prettyLine(line))
    }
    const how = { onLine, onLog: atTerminal ? onLog : null, quiet: atTerminal, onPid: watch.supervisor }
    const running = runMillrace(args, how, until).then(code => {
      if (!until.aborted) watch.above(`millrace run ended by itself, with ${code}: everything else ends with it`)
      return code
    })
    const reviving = Promise.all(of.parts.map(part => revive(part, of.clock, watch.above, until)))
    // Whatever ends first, the fleet has ended before the brokers go.
    return await Promise.race([running, reviving.then(() => running)]).finally(async () => {
      ended.abort()
      await running.catch(() => {})
    })
  } finally {
    watch.close()
  }
}

/** Ends with the stop; rejects when it does not come up again. */
async function revive(part: Killable, clock: Clock, say: (line: string) => void, stop: AbortSignal): Promise<void> {
  for (;;) {
    await Promise.race([part.exited, pause(clock, foreverMs, stop)])
    if (stop.aborted) return
    say(`${part.name} was killed; it is started again in ${reviveMs / 1_000} s`)
    await pause(clock, reviveMs, stop)
    if (stop.aborted) return
    await part.restart()
    say(`${part.name} runs again`)
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
function watchFleet({ clock, parts }: { clock: Clock; parts: readonly Killable[] }, atTerminal: boolean) {
  const screen = redrawn(process.stderr)
  const processes = new Map<string, ProcessSeen>()
  const startedMs = clock.nowMs()
  let supervisor: number | null = null
  let url: string | null = null
  let seen: FleetSeen | null = null
  let answeredMs = startedMs
  let before = ''
  let looking = false

  async function look(): Promise<void> {
    if (looking) return
    looking = true
    try {
      if (url !== null) {
        seen = await seenAt(url)
        answeredMs = clock.nowMs()
      }
    } catch {
      // It does not answer this second: what was seen stands, and the table says since when.
    } finally {
      looking = false
    }
    if (atTerminal) draw()
    else tell()
  }

  function draw(): void {
    const nowMs = clock.nowMs()
    const pids = [
      ...parts.map(({ name, pids }) => [name, pids[0] ?? null] as const),
      ['supervisor', supervisor] as const,
    ]
    const how = {
      processes,
      pids: new Map(pids),
      url,
      silentMs: nowMs - answeredMs,
      seconds: (nowMs - startedMs) / 1_000,
    }
    screen.draw(fleetTable(seen, how))
  }

  function tell(): void {
    const held = Object.fromEntries((seen?.workers ?? []).map(worker => [worker.id, worker.held]))
    if (JSON.stringify(held) === before) return
    before = JSON.stringify(held)
    process.stdout.write(`${JSON.stringify({ type: 'held', at: new Date(clock.wallMs()).toISOString(), held })}\n`)
  }

  const cancel = every(clock, lookMs, () => void look())
  return {
    line(line: JsonLine): void {
      const name = String(line['process'])
      if (line['type'] === 'started') {
        if (name === 'controller') url = String(line['url'])
        processes.set(String(line['id']), { name, pid: Number(line['pid']), ended: false })
      }
      if (line['type'] !== 'ended') return
      for (const of of processes.values()) if (of.name === name) of.ended = true
    },
    supervisor(pid: number): void {
      supervisor = pid
    },
    above(line: string): void {
      if (atTerminal) screen.above(line)
      else process.stderr.write(`${line}\n`)
    },
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
