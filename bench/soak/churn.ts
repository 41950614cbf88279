import { setTimeout as delay } from 'node:timers/promises'
import { checkpointFrom } from '../../engine/mirror/decide/checkpointMetadata.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { kafka, type KafkaCluster as RigKafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { between, seeded } from '../../rig/seeded.ts'
import { rig } from '../../rig/set.ts'
import { arrivalsOf } from './arrivals.ts'
import { judge, type Verdict } from './judge.ts'
import type { Incarnation } from './ledger.ts'
import { type FaultCounts, noFaults, spoilLine } from './lineFaults.ts'
import { type Mirrors, startMirrors } from './mirrors.ts'
import { type TopicCounts, topicLives } from './topicLives.ts'

/** Without `kills` the mirror lives on, and nothing may be there twice (M-45). */
export type ChurnPlan = {
  seed: number
  seconds: number
  brokers: number
  kills: boolean
  /** A file for all that the mirrors write; null = none. */
  log: string | null
}
export type ChurnResult = Verdict & {
  plan: ChurnPlan
  seconds: number
  kills: number
  restarts: number
  faults: FaultCounts
  topics: TopicCounts
  repeated: number
  outOfOrder: number
  strange: number
  /** Events of all runs of the mirror, by code. */
  events: Record<string, number>
  /** What had not arrived when the run gave up waiting. */
  behind: string[]
  /** Of the last run, on SIGTERM. */
  exitCode: number | null
}

const flow = 'churn'
const group = `millrace.${flow}`
const prefix = 'churn.'
const catchUpMs = 240_000
const lookAgainMs = 200

type Counts = { kills: number; restarts: number; faults: FaultCounts }

/**
 * A mirror of a pattern under kills, behind lines that are cut, stalled and slow, while topics of the source are made,
 * grown, deleted, made anew and trimmed (MIRROR §7): each number that the source took is at the destination, or
 * something that was told accounts for it. What is done is seeded; when it happens is not.
 */
export async function churn(plan: ChurnPlan, say: (line: string) => void): Promise<ChurnResult> {
  const startedMs = performance.now()
  const broker = want(kafka, { brokers: plan.brokers, proxied: true })
  await using set = await rig({ east: broker, west: broker })
  const { east, west } = set.parts
  const source = openPlain('east', east.address.bootstrap)
  const destination = openPlain('west', west.address.bootstrap)
  const over = new AbortController()
  const { signal } = over
  const of = (what: string) => seeded(`${plan.seed} ${what}`)
  const lives = topicLives({
    cluster: source,
    bootstrap: east.address.bootstrap,
    group,
    prefix,
    chance: of('topics'),
    writeChance: of('writes'),
    signal,
    say,
  })
  const counts: Counts = { kills: 0, restarts: 0, faults: noFaults() }
  try {
    const words = { topics: { include: ['churn\\..*'] } }
    const mirrors = await startMirrors(flow, words, { east: behind(east), west: behind(west), signal, log: plan.log })
    const work = disturbed(plan, { east, west, lives, mirrors, counts, of, signal, say })
    await Promise.race([work, mirrors.died, lives.failed])
    await lives.finish()
    say('no more disturbance: the mirror catches up')
    const late = await Promise.race([caughtUp(source, lives.incarnations, signal), mirrors.died])
    if (late.length === 0) await Promise.race([mirrors.settled(alive(lives.incarnations).length), mirrors.died])
    const exitCode = await mirrors.stop()
    const arrivals = await arrivalsOf(destination, lives.incarnations, signal)
    const { repeated, outOfOrder, strange } = arrivals
    return {
      plan,
      seconds: (performance.now() - startedMs) / 1_000,
      ...counts,
      topics: lives.counts,
      ...judge(lives.incarnations, arrivals.seen, mirrors.events),
      repeated,
      outOfOrder,
      strange,
      events: byCode(mirrors),
      behind: late,
      exitCode,
    }
  } finally {
    over.abort()
    await lives.close()
    await Promise.all([source.close(), destination.close()])
  }
}

type Disturbed = {
  east: RigKafka
  west: RigKafka
  lives: ReturnType<typeof topicLives>
  mirrors: Mirrors
  counts: Counts
  of: (what: string) => () => number
  signal: AbortSignal
  say: (line: string) => void
}

/** All disturbances side by side for the time of the plan; ends when the last of each is over and the lines are clean. */
async function disturbed(plan: ChurnPlan, all: Disturbed): Promise<void> {
  const { east, west, lives, mirrors, counts, of, say } = all
  const time = AbortSignal.any([AbortSignal.timeout(plan.seconds * 1_000), all.signal])
  const lines = [east, west].flatMap(cluster =>
    cluster.proxies.map((proxy, i) => {
      const chance = of(`line ${cluster.name} ${i}`)
      return spoilLine(proxy, { lines: cluster.proxies.length, chance, counts: counts.faults, signal: time })
    }),
  )
  const restart = async (cluster: RigKafka, chance: () => number) => {
    const one = cluster.brokers[between(chance, 0, cluster.brokers.length - 1)]
    say(`${one?.name} is killed and started again`)
    await one?.kill()
    await one?.restart()
    counts.restarts++
  }
  // Topics of a broker that is down cannot be made: its restarts are in turn with them.
  const topics = async (chance: () => number) => {
    for (let nextMs = restartMs(chance); !time.aborted; await delay(between(chance, 200, 2_500))) {
      if (performance.now() < nextMs) await lives.deed()
      else {
        await restart(east, chance)
        nextMs = restartMs(chance)
      }
    }
  }
  const kills = async (chance: () => number) => {
    for (let nextMs = restartMs(chance); !time.aborted; ) {
      await delay(between(chance, 5_000, 18_000))
      if (time.aborted) return
      if (plan.kills) {
        say('the mirror is killed')
        await mirrors.kill(() => delay(chance() < 0.5 ? 0 : between(chance, 0, 4_000)))
        counts.kills++
      }
      if (performance.now() < nextMs) continue
      await restart(west, chance)
      nextMs = restartMs(chance)
    }
  }
  await Promise.all([...lines, topics(of('deeds')), kills(of('kills'))])
}

/** When the next broker is restarted, on the clock of `performance`. */
function restartMs(chance: () => number): number {
  return performance.now() + between(chance, 10_000, 30_000)
}

/** Until the checkpoints are where the writers have stopped; gives those that are not, after a while. */
async function caughtUp(
  source: KafkaCluster,
  incarnations: readonly Incarnation[],
  signal: AbortSignal,
): Promise<string[]> {
  const wanted = alive(incarnations).flatMap(one =>
    one.parts.map((part, partition) => ({ ...one, partition, offset: BigInt(part.acked) })),
  )
  const untilMs = performance.now() + catchUpMs
  for (;;) {
    const stored = await source.checkpoints.load(group, 'all', signal).catch(() => [])
    const found = new Map(stored.map(entry => [`${entry.topic}/${entry.partition}`, entry]))
    const behind = wanted.flatMap(({ topic, topicId, partition, offset }) => {
      const entry = found.get(`${topic}/${partition}`)
      const isOfIt = entry !== undefined && checkpointFrom(entry.metadata)?.sourceId === topicId
      return isOfIt && entry.offset === offset ? [] : [`${topic}/${partition} ${entry?.offset} of ${offset}`]
    })
    if (behind.length === 0 || performance.now() > untilMs) return behind
    await delay(lookAgainMs, undefined, { signal })
  }
}

function alive(incarnations: readonly Incarnation[]): Incarnation[] {
  return incarnations.filter(one => one.deletedMs === null)
}

function behind(cluster: RigKafka): { bootstrap: string } {
  return { bootstrap: cluster.address.proxied ?? '' }
}

function byCode({ events }: Mirrors): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const event of events) counts[String(event['code'])] = (counts[String(event['code'])] ?? 0) + 1
  return counts
}
