import { createInterface } from 'node:readline/promises'
import { exitCodeOf } from '../cli/exitCode.ts'
import { errorLines } from '../cli/output.ts'
import { machineClock } from '../engine/adapters/local/clock.ts'
import { MillraceError } from '../engine/errors.ts'
import type { KafkaCluster } from '../engine/ports/kafka.ts'
import { describeError, exitOf, RigError } from './errors.ts'
import { kafka } from './kafka.ts'
import { openPlain } from './openPlain.ts'
import { want } from './part.ts'
import { progressAt } from './progress.ts'
import { type SamplesHow, type SampleTopic, writePlainSamples, writeSamples } from './samples.ts'
import { rig, type Wishes } from './set.ts'
import { type Clusters, check, checkTable } from './up/check.ts'
import { steadyFleet } from './up/fleet.ts'
import { steadyLoad, steadyMirror } from './up/steady.ts'
import { parseUp, type UpWords, usage } from './up/words.ts'
import { zookeeper } from './zookeeper.ts'

/** Nothing else is ever created on brokers that exist. */
const prefix = 'millrace-demo'
const pattern = `${prefix}-.*`
const clock = machineClock()

type Scene = { words: UpWords; clusters: Clusters; stop: AbortSignal; progress: ReturnType<typeof progressAt> }

async function main(argv: string[], stop: AbortSignal): Promise<number> {
  const words = parseUp(argv)
  if (words === 'help') {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  const progress = progressAt(process.stderr)
  try {
    if (words.fleet) return await playFleet(stop, progress)
    if (words.brokers === null) {
      await using set = await startParts({ east: want(kafka, {}), west: want(kafka, {}) }, stop, progress.line)
      const clusters = { from: set.addresses.east.bootstrap, to: set.addresses.west.bootstrap }
      const died = set.died.then(error => Promise.reject(error))
      return await Promise.race([play({ words, clusters, stop, progress }), died])
    }
    if (!words.yes) await ask(words.brokers)
    return await play({ words, clusters: words.brokers, stop, progress })
  } finally {
    progress.stop()
  }
}

/** Two clusters, a ZooKeeper, and what people start with `millrace run --workers 3` on them. */
async function playFleet(stop: AbortSignal, progress: Scene['progress']): Promise<number> {
  await using set = await startParts(
    { east: want(kafka, {}), west: want(kafka, {}), zookeeper: want(zookeeper, {}) },
    stop,
    progress.line,
  )
  const clusters = { from: set.addresses.east.bootstrap, to: set.addresses.west.bootstrap }
  const from = openPlain('source', clusters.from)
  try {
    const topics = await steadyTopics(from)
    progress.stop()
    const chroot = `${set.addresses.zookeeper.bootstrap}/millrace-demo`
    process.stdout.write(
      `source       ${clusters.from}\ndestination  ${clusters.to}\nzookeeper    ${chroot}\ntopics       ${pattern}\n`,
    )
    const { dir } = set
    const parts = Object.values(set.parts)
    const run = (until: AbortSignal) => steadyFleet({ clusters, zookeeper: chroot, pattern, clock, parts, dir }, until)
    return await underLoad(from, topics, run, stop)
  } finally {
    await from.close()
  }
}

/** A stop ends the start; later the mirror must end before its brokers, so that it can commit. */
async function startParts<W extends Wishes>(
  wishes: W,
  stop: AbortSignal,
  progress: (name: string, line: string) => void,
) {
  const starting = new AbortController()
  const onStop = () => starting.abort(stop.reason)
  stop.addEventListener('abort', onStop, { once: true })
  try {
    return await rig(wishes, { signal: starting.signal, progress })
  } finally {
    stop.removeEventListener('abort', onStop)
  }
}

async function play(scene: Scene): Promise<number> {
  const from = openPlain('source', scene.clusters.from)
  try {
    return await (scene.words.check ? playCheck(scene, from) : playSteady(scene, from))
  } finally {
    await from.close()
  }
}

async function playCheck({ words, clusters, stop, progress }: Scene, from: KafkaCluster) {
  progress.line('samples', 'writing')
  const how: SamplesHow = {
    seed: 'up',
    timeMs: clock.wallMs() - 60_000,
    prefix,
    partitions: 4,
    recordsPerPartition: 4_000,
    valueBytes: [100, 1_200],
  }
  const topics =
    words.brokers === null
      ? await writeSamples({ cluster: from, bootstrap: clusters.from, clock }, how, stop)
      : await writePlainSamples(from, how, stop)
  const checked = await check(clusters, topics, pattern, progress.line, stop)
  process.stdout.write(checkTable(checked))
  if (words.brokers !== null) process.stdout.write(`the topics ${prefix}-* stay on both clusters\n`)
  return checked.good ? 0 : 1
}

async function playSteady({ clusters, stop, progress }: Scene, from: KafkaCluster): Promise<number> {
  const topics = await steadyTopics(from)
  progress.stop()
  process.stdout.write(`source       ${clusters.from}\ndestination  ${clusters.to}\ntopics       ${pattern}\n`)
  return await underLoad(from, topics, until => steadyMirror(clusters, pattern, clock, until), stop)
}

async function steadyTopics(from: KafkaCluster): Promise<SampleTopic[]> {
  const topics = ['orders', 'clicks'].map(name => ({ topic: `${prefix}-${name}`, partitions: 4, configs: {} }))
  await makeTopics(from, topics)
  return topics
}

/** Records are written while it runs; whichever of the two ends by itself takes the other along. */
async function underLoad(
  from: KafkaCluster,
  topics: SampleTopic[],
  run: (until: AbortSignal) => Promise<number>,
  stop: AbortSignal,
): Promise<number> {
  if (!process.stderr.isTTY) process.stderr.write('Ctrl-C ends it\n')
  const ended = new AbortController()
  const until = AbortSignal.any([stop, ended.signal])
  const load = steadyLoad(from, topics, clock, until).finally(() => ended.abort())
  const [code] = await Promise.all([run(until).finally(() => ended.abort()), load])
  if (process.stderr.isTTY) process.stderr.write('\n')
  return code
}

/** At the source only: the mirror makes them at the destination. */
async function makeTopics(cluster: KafkaCluster, topics: SampleTopic[]): Promise<void> {
  for (const { topic, partitions, configs } of topics) await cluster.admin.createTopic(topic, partitions, { configs })
}

async function ask({ from, to }: Clusters): Promise<void> {
  const what = `topics ${prefix}-* are created on ${from} and ${to}, and records are written to the first`
  if (!process.stdin.isTTY) throw new RigError('rig-usage', `${what}: say --yes`, { hint: usage })
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${what}. Go on? [y/N] `)
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new RigError('rig-usage', 'nothing was done')
}

/** the first signal ends everything in order, a second one at once (the guard does the rest). */
const stop = new AbortController()
for (const [name, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.on(name, () => {
    if (stop.signal.aborted) process.exit(code)
    stop.abort(new Error(name))
  })
}
// The machine's timers keep nobody alive (a pause between two batches may be all there is).
setInterval(() => {}, 1 << 30)
process.exit(
  await main(process.argv.slice(2), stop.signal).catch(error => {
    // Cancelled is no good result of a check; the steady load has none.
    if (stop.signal.aborted) return process.argv.includes('--check') ? 11 : 0
    const ofMillrace = error instanceof MillraceError
    process.stderr.write(`${ofMillrace ? errorLines(error) : describeError(error)}\n`)
    return ofMillrace ? exitCodeOf(error) : exitOf(error)
  }),
)
