import { parseArgs } from 'node:util'
import { soak } from './run.ts'

/** `npm run soak`: 2 million records under 10 kills of the mirror and 5 restarts of brokers; exit 1 when one is lost. */
const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '2000000' },
    kills: { type: 'string', default: '10' },
    restarts: { type: 'string', default: '5' },
    partitions: { type: 'string', default: '16' },
    'value-bytes': { type: 'string', default: '200' },
  },
})

const alive = setInterval(() => {}, 60_000)
try {
  const plan = {
    records: Number(values.records),
    kills: Number(values.kills),
    restarts: Number(values.restarts),
    partitions: Number(values.partitions),
    valueBytes: Number(values['value-bytes']),
  }
  const result = await soak(plan, line => process.stderr.write(`${line}\n`))
  process.stdout.write(`${JSON.stringify(result)}\n`)
  process.exitCode = result.lost === 0 && result.outOfOrder === 0 && result.exitCode === 0 ? 0 : 1
} finally {
  clearInterval(alive)
}
