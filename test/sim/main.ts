import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { planted } from './planted.ts'
import { playSeeds } from './seeds.ts'
import { defaults, type SimResult } from './simulate.ts'

/** `npm run sim -- --seeds 100000 [--from N]`, `--seed N [--trace]`, either with `--planted NAME` (C-113, C-114). */
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    planted: { type: 'string' },
    threads: { type: 'string', default: String(availableParallelism()) },
    all: { type: 'boolean', default: false },
  },
})

const fault = values.planted === undefined ? null : planted.find(one => one.name === values.planted)
if (fault === undefined) {
  process.stderr.write(`no such planted fault; there are:\n${planted.map(one => `  ${one.name}`).join('\n')}\n`)
  process.exit(2)
}

const from = Number(values.seed ?? values.from)
const count = values.seed === undefined ? Number(values.seeds) : 1
const beganMs = performance.now()
let played = 0
let events = 0
let failed = 0

function tell(result: SimResult): void {
  const { seed, failure } = result
  if (failure === null) return
  failed++
  process.stdout.write(`seed ${seed}: ${failure.message} (at ${failure.atMs.toFixed(3)} ms)\n`)
  if (values.all) return
  process.stdout.write(`the last ${failure.last.length} events:\n${failure.last.map(line => `  ${line}`).join('\n')}\n`)
  process.stdout.write(`again: npm run sim -- --seed ${seed} --trace\n`)
}

await playSeeds({
  ...{ from, count, threads: Number(values.threads), patches: fault?.patches ?? [], traced: values.trace },
  options: { rateSpread: fault?.rateSpread ?? defaults.rateSpread },
  each(result, lines) {
    played++
    events += result.events
    for (const line of lines) process.stdout.write(`${line}\n`)
    tell(result)
    return result.failure === null || values.all
  },
})
const seconds = (performance.now() - beganMs) / 1_000
process.stdout.write(
  `${played} seeds, ${failed} failed, ${seconds.toFixed(1)} s, ${Math.round(events / played)} events a seed\n`,
)
process.exit(failed > 0 ? 1 : 0)
