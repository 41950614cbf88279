import { appendFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { redrawn } from '../../rig/up/redrawn.ts'
import { chaos, chaosPlan } from './chaos.ts'
import { type FaultKind, faultKinds } from './faults.ts'
import { chaosTable } from './table.ts'

const usage = `npm run chaos -- [--minutes N] [--seed N] [--only KIND,…] [--workers N] [--controllers N] [--session-ms N] [--zookeepers 3] [--log FILE] [-o json]
  A fleet under 3 000 records a second on 60 partitions, and one fault after another (5 minutes). Exit 1 when a record is
  lost or out of order, there twice where nothing may be, or a process died that nobody killed; Ctrl-C ends it early.
  KIND: ${faultKinds.join(' ')}`

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string' },
    only: { type: 'string' },
    workers: { type: 'string', default: String(chaosPlan.workers) },
    controllers: { type: 'string', default: String(chaosPlan.controllers) },
    'session-ms': { type: 'string', default: String(chaosPlan.sessionMs) },
    zookeepers: { type: 'string', default: '1' },
    log: { type: 'string' },
    output: { type: 'string', short: 'o', default: 'table' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

const kinds = values.only === undefined ? faultKinds : (values.only.split(',') as FaultKind[])
const unknown = kinds.filter(kind => !faultKinds.includes(kind))
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) process.stderr.write(`unknown: ${unknown.join(', ')}\n`)
  process.stderr.write(`${usage}\n`)
  process.exit(values.help ? 0 : 2)
}

const seed = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed)
const seconds = Number(values.minutes) * 60
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())

const { log } = values
const screen = process.stderr.isTTY ? redrawn(process.stderr) : null
const startedMs = performance.now()
let under = 'starting'
/** One line that lives, at a terminal; what has happened stands above it, and in the log. */
const draw = () => {
  const now = Math.round((performance.now() - startedMs) / 1_000)
  screen?.draw([`seed ${seed}  ${now} of ${seconds} s  ${under}  Ctrl-C ends it`])
}
const drawing = setInterval(draw, 1_000)
const say = (line: string) => {
  under = line
  const text = `${new Date().toISOString()} ${line}`
  if (log !== undefined) appendFileSync(log, `${text}\n`)
  if (!line.endsWith('…')) screen?.above(text)
  draw()
}

try {
  say(`seed ${seed}`)
  const sizes = {
    workers: Number(values.workers),
    controllers: Number(values.controllers),
    zookeepers: values.zookeepers === '3' ? 3 : 1,
  } as const
  const plan = { ...chaosPlan, ...sizes, sessionMs: Number(values['session-ms']), kinds, seed, seconds }
  const result = await chaos({ ...plan, log: log ?? null, stop: stop.signal }, say)
  process.stdout.write(values.output === 'json' ? `${JSON.stringify(result)}\n` : chaosTable(result))
  process.exitCode = result.wrong.length === 0 ? 0 : 1
} finally {
  clearInterval(drawing)
}
