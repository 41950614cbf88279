import { parseArgs } from 'node:util'
import { type ChurnResult, churn } from './churn.ts'
import { soak } from './run.ts'

/**
 * `npm run soak`: five minutes of a mirror under kills, bad lines and restarts of brokers, while topics come, grow and
 * go; with `--no-kills` nothing may be there twice either. `npm run soak -- --records 2000000`: so many records of one topic under kills and restarts. Exit 1 when a record
 * is lost that nothing accounts for, or the order is not kept.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string' },
    brokers: { type: 'string', default: '2' },
    'no-kills': { type: 'boolean', default: false },
    log: { type: 'string' },
    json: { type: 'boolean', default: false },
    records: { type: 'string' },
    kills: { type: 'string', default: '10' },
    restarts: { type: 'string', default: '5' },
    partitions: { type: 'string', default: '16' },
    'value-bytes': { type: 'string', default: '200' },
  },
})

const say = (line: string) => void process.stderr.write(`${new Date().toISOString()} ${line}\n`)

const alive = setInterval(() => {}, 60_000)
try {
  process.exitCode = (await (values.records === undefined ? churnOnce() : soakOnce(Number(values.records)))) ? 0 : 1
} finally {
  clearInterval(alive)
}

async function churnOnce(): Promise<boolean> {
  const seed = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed)
  say(`seed ${seed}`)
  const kills = !values['no-kills']
  const plan = {
    seed,
    seconds: Number(values.minutes) * 60,
    brokers: Number(values.brokers),
    kills,
    log: values.log ?? null,
  }
  const result = await churn(plan, say)
  for (const example of result.examples) say(example)
  for (const one of result.behind) say(`behind: ${one}`)
  process.stdout.write(`${values.json ? JSON.stringify(result) : lineOf(result)}\n`)
  const { lost, outOfOrder, strange, behind, repeated, exitCode } = result
  const faults = lost + outOfOrder + strange + behind.length + (kills ? 0 : repeated)
  return faults === 0 && exitCode === 0
}

function lineOf(of: ChurnResult): string {
  const { created, grown, deleted, remade, trimmed } = of.topics
  const faults = Object.entries(of.faults).map(([name, count]) => `${name} ${count}`)
  const events = Object.entries(of.events).map(([code, count]) => `${code} ${count}`)
  return [
    `seed ${of.plan.seed}, ${Math.round(of.seconds)} s: ${of.records} records`,
    `${of.kills} kills, ${of.restarts} restarts, ${faults.join(', ')}`,
    `topics ${created} created, ${grown} grown, ${deleted} deleted, ${remade} made anew, ${trimmed} trimmed`,
    `lost ${of.lost}, out of order ${of.outOfOrder}, strange ${of.strange}, repeated ${of.repeated}`,
    `accounted for: gaps ${of.gapRecords}, deleted ${of.deletedRecords}, before the start ${of.beforeStart}, unseen ${of.unseen}`,
    `events ${events.join(', ')}`,
    `behind ${of.behind.length}, exit ${of.exitCode}`,
  ].join('; ')
}

async function soakOnce(records: number): Promise<boolean> {
  const plan = {
    records,
    kills: Number(values.kills),
    restarts: Number(values.restarts),
    partitions: Number(values.partitions),
    valueBytes: Number(values['value-bytes']),
  }
  const result = await soak(plan, say)
  process.stdout.write(`${JSON.stringify(result)}\n`)
  return result.lost === 0 && result.outOfOrder === 0 && result.exitCode === 0
}
