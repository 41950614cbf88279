import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeFlags } from '../../cli/nodeFlags.ts'
import { plainSecurity } from '../../engine/adapters/kafka/login.ts'
import { openKafka } from '../../engine/adapters/kafka/openKafka.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { codecs } from '../../engine/batch/header.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { type Audit, audit, numberedBatch } from '../../rig/audit.ts'
import type { Child } from '../../rig/child.ts'
import { type Children, children } from '../../rig/children.ts'
import { kafka, type KafkaCluster as RigKafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { rig } from '../../rig/set.ts'

export type SoakPlan = { records: number; kills: number; restarts: number; partitions: number; valueBytes: number }
export type SoakResult = {
  plan: SoakPlan
  seconds: number
  kills: number
  restarts: number
  records: number
  lost: number
  repeated: number
  outOfOrder: number
  /** Exit code of the last, undisturbed run. */
  exitCode: number | null
}

const topic = 'soak'
const flow = 'soak'
const recordsPerBatch = 100
const underWayMax = 64
const pollMs = 20
const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Copies numbered records of mixed codecs while the mirror is killed and brokers are restarted, each at its own share
 * of the way, and audits the destination: none lost, order kept, doubles counted.
 */
export async function soak(plan: SoakPlan, say: (line: string) => void): Promise<SoakResult> {
  const startedMs = performance.now()
  await using set = await rig({ east: want(kafka, {}), west: want(kafka, {}), processes: want(children, {}) })
  const { east, west, processes } = set.parts
  const account = new MemoryAccount()
  const clock = machineClock()
  const open = (part: RigKafka) => {
    const brokers = part.address.brokers.map(({ host, port }) => ({ host, port }))
    const config = {
      name: part.name,
      brokers,
      clientId: 'millrace-soak',
      addresses: new Map(),
      security: plainSecurity,
    }
    return openKafka(config, { account, clock, chance: Math.random })
  }
  const source = open(east)
  const destination = open(west)
  const end = new AbortController()
  try {
    for (const cluster of [source, destination]) await cluster.admin.createTopic(topic, plan.partitions)
    const expected = Array.from(
      { length: plan.partitions },
      (_, p) => Math.floor(plan.records / plan.partitions) + (p < plan.records % plan.partitions ? 1 : 0),
    )
    const writing = Promise.all(
      expected.map((count, partition) => write(source, partition, count, plan.valueBytes, end.signal)),
    )
    const where = { east, west, processes, destination }
    const exitCode = await disturb(plan, where, writing, say)
    const found = await audit(destination, topic, expected, end.signal)
    return {
      plan,
      seconds: (performance.now() - startedMs) / 1_000,
      kills: plan.kills,
      restarts: plan.restarts,
      exitCode,
      ...sums(found),
    }
  } finally {
    end.abort()
    await source.close()
    await destination.close()
  }
}

type Where = { east: RigKafka; west: RigKafka; processes: Children; destination: KafkaCluster }

/** The disturbances, evenly spaced by what has arrived; then one undisturbed run to the end. Gives its exit code. */
async function disturb(
  plan: SoakPlan,
  where: Where,
  writing: Promise<unknown>,
  say: (line: string) => void,
): Promise<number | null> {
  const events = plan.kills + plan.restarts
  let running = await mirror(where, 0, [])
  for (let n = 1, restarts = 0; n <= events; n++) {
    await arrived(where.destination, plan, Math.floor((plan.records * n) / (events + 1)))
    if (Math.floor((n * plan.restarts) / events) > restarts) {
      restarts++
      const cluster = restarts % 2 === 1 ? where.west : where.east
      say(`${n}/${events}: ${cluster.name} is killed and started again`)
      await cluster.kill()
      await cluster.restart()
    } else {
      say(`${n}/${events}: the mirror is killed`)
      await running.kill()
      running = await mirror(where, n, [])
    }
  }
  await writing
  await running.stop()
  const last = await mirror(where, events + 1, ['--until-end'])
  return (await last.exited).code
}

function mirror(where: Where, run: number, more: string[]): Promise<Child> {
  const flags = [
    '--from',
    where.east.address.bootstrap,
    '--to',
    where.west.address.bootstrap,
    '--topics',
    topic,
    '--name',
    flow,
    '-o',
    'json',
  ]
  return where.processes.start({
    name: `mirror.${run}`,
    command: join(root, 'node_modules/.bin/node'),
    args: [...nodeFlags, join(root, 'cli/start.mjs'), 'mirror', ...flags, ...more],
  })
}

/** Repeats count too: it is only about when to disturb. */
async function arrived(destination: KafkaCluster, plan: SoakPlan, records: number): Promise<void> {
  const parts = Array.from({ length: plan.partitions }, (_, partition) => ({ topic, partition }))
  for (;;) {
    const ends = await destination.admin.offsets(parts, 'end').catch(() => [])
    if (ends.reduce((sum, found) => sum + Number(found.offset ?? 0n), 0) >= records) return
    await new Promise(resolve => setTimeout(resolve, pollMs))
  }
}

/** Writes the numbers 0 … count − 1 to one partition, in all codecs by turns, a bounded number of batches under way. */
function write(
  source: KafkaCluster,
  partition: number,
  count: number,
  valueBytes: number,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let sent = 0
    let open = 0
    let turn = partition
    const lane = source.sink.open<number>(
      { topic, partition, topicId: '' },
      () => !signal.aborted,
      outcome => {
        if (outcome.is !== 'acked') return reject(new Error(`writing to ${topic}/${partition}: ${outcome.is}`))
        open--
        if (open === 0 && sent === count) {
          lane.close(false)
          return resolve()
        }
        return setImmediate(fill)
      },
    )
    const fill = () => {
      while (open < underWayMax && sent < count) {
        const n = Math.min(recordsPerBatch, count - sent)
        const codec = codecs[turn++ % codecs.length] ?? 'none'
        lane.send(numberedBatch(sent, n, { codec, valueBytes, timestampMs: Date.now() }), sent)
        sent += n
        open++
      }
    }
    fill()
  })
}

function sums(found: Audit[]): { records: number; lost: number; repeated: number; outOfOrder: number } {
  const sum = (of: (one: Audit) => number) => found.reduce((all, one) => all + of(one), 0)
  return {
    records: sum(a => a.records),
    lost: sum(a => a.lost),
    repeated: sum(a => a.repeated),
    outOfOrder: sum(a => a.outOfOrder),
  }
}
