import { writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { plainSecurity } from '../../engine/adapters/kafka/login.ts'
import { openKafka } from '../../engine/adapters/kafka/openKafka.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { children } from '../../rig/children.ts'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { rig } from '../../rig/set.ts'
import { type Contestant, millrace, mirrorMaker } from './contestants.ts'
import { type Cell, load, sizeOf } from './load.ts'
import { measure, type Run } from './measure.ts'
import { summarize, tableOf } from './table.ts'

const usage = `npm run bench:mirror -- [--short | --full] [--rounds n] [--records n] [--only-ours] [--tree NAME=DIR]… [--json FILE]
  default   1 KiB records, none lz4 zstd in 8 partitions, lz4 in 200; 5 rounds against tuned MirrorMaker 2 (15 minutes)
  --short   one cell, one round: what CI prints
  --full    also 100 B and 10 KiB, and stock MirrorMaker 2; 3 rounds
  --tree    another checkout as a further contestant`

const { values } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    records: { type: 'string', default: '2000000' },
    codecs: { type: 'string', default: 'none,lz4,zstd' },
    'only-ours': { type: 'boolean', default: false },
    tree: { type: 'string', multiple: true, default: [] },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

function cells(): Cell[] {
  const records = Number(values.records)
  const codecs = values.codecs.split(',') as Cell['codec'][]
  const of = (codec: Cell['codec'], recordBytes: number, count: number): Cell => {
    const topic = `bench.${codec}.${recordBytes}`
    return { topic, codec, recordBytes, records: count, partitions: 8 }
  }
  if (values.short) return [of('lz4', 1_024, Math.min(records, 200_000))]
  // Many partitions: what MIRROR's B-3 asks of the memory.
  const wide: Cell = { ...of('lz4', 1_024, records), topic: 'bench.lz4.1024.wide', partitions: 200 }
  const usual = [...codecs.map(codec => of(codec, 1_024, records)), ...(codecs.includes('lz4') ? [wide] : [])]
  if (!values.full) return usual
  return [...usual, of('lz4', 100, records * 2), of('lz4', 10_240, Math.round(records / 10))]
}

function contestants(): Contestant[] {
  const ours = [
    millrace(),
    ...values.tree.map(named => {
      const [name, dir] = named.split('=')
      return millrace(`millrace-${name}`, dir)
    }),
  ]
  if (values['only-ours']) return ours
  return [...ours, mirrorMaker('tuned'), ...(values.full ? [mirrorMaker('stock')] : [])]
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

async function main(): Promise<void> {
  if (values.help) return say(usage)
  const rounds = Number(values.rounds ?? (values.short ? 1 : values.full ? 3 : 5))
  await using set = await rig({
    east: want(kafka, { tuned: true }),
    west: want(kafka, { tuned: true }),
    processes: want(children, {}),
  })
  const { east, west, processes } = set.parts
  const clock = machineClock()
  const account = new MemoryAccount()
  const open = (name: string, bootstrap: string) => {
    const brokers = bootstrap.split(',').map(at => ({ host: at.split(':')[0] ?? '', port: Number(at.split(':')[1]) }))
    const config = { name, brokers, clientId: 'millrace-bench', addresses: new Map(), security: plainSecurity }
    return openKafka(config, { account, clock, chance: Math.random })
  }
  const source = open('east', east.address.bootstrap)
  const destination = open('west', west.address.bootstrap)
  const runs: Run[] = []
  const bytesOf = new Map<string, number>()
  const stop = new AbortController()
  try {
    for (const cell of cells()) {
      say(`${cell.topic}: writing ${cell.records} records of ${cell.recordBytes} B`)
      await load(cell, source, east.address.bootstrap, processes)
      const size = await sizeOf(cell.topic, source, stop.signal)
      bytesOf.set(cell.topic, size.bytes)
      for (let round = 0; round < rounds; round++) {
        const order = round % 2 === 0 ? contestants() : contestants().reverse()
        for (const contestant of order) {
          const where = { from: east.address.bootstrap, to: west.address.bootstrap, processes, round }
          const run = await measure(cell, contestant, where, destination)
          runs.push(run)
          say(
            `${cell.topic} round ${round + 1}/${rounds} ${contestant.name}: ${run.cpuSeconds.toFixed(2)} CPU-s, ${run.wallSeconds.toFixed(2)} s, ${run.peakRssMib.toFixed(0)} MiB`,
          )
        }
      }
    }
  } finally {
    await source.close()
    await destination.close()
  }
  const rows = summarize(runs, bytesOf, 'millrace')
  process.stdout.write(`${tableOf(rows)}\n`)
  const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, node: process.version }
  const report = { at: new Date().toISOString(), machine, bytes: Object.fromEntries(bytesOf), rows, runs }
  if (values.json) await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`)
}

// Timers of the product do not keep a process alive; this run is over when `main` is.
const alive = setInterval(() => {}, 60_000)
try {
  await main()
} finally {
  clearInterval(alive)
}
