import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { type Solo, startSolo } from '../../engine/fleet/solo.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { kinds } from '../../engine/kinds.ts'
import { rivalWaitMs } from '../../engine/limits.ts'
import { checkpointText } from '../../engine/mirror/decide/checkpointMetadata.ts'
import { provenanceTopicConfigs, provenanceTopicName, writeProvenance } from '../../engine/mirror/provenanceTopic.ts'
import { mirrorSpec } from '../../engine/mirror/spec.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { type ManualClock, manualClock } from '../fakes/clock.ts'
import { batchOf } from '../fakes/kafka/batches.ts'
import { type FakeKafka, fakeKafka } from '../fakes/kafka/cluster.ts'
import { type Random, randomOf } from './random.ts'

/** One seed is played again with MILLRACE_SEED=n. */
const seeds = process.env['MILLRACE_SEED'] ? [Number(process.env['MILLRACE_SEED'])] : [...Array(30).keys()]
const part = { topic: 't', partition: 0 }
const written = 4
/** Longer than any wait of the guard. */
const settledMs = rivalWaitMs + 10_000

/** A cluster as one process sees it: each answer takes its time. */
function slow(cluster: FakeKafka, clock: ManualClock, random: Random): KafkaCluster {
  const late = async () => {
    const ms = random.of([0, 0, 5, 50, 300, 2_000])
    if (ms > 0) await new Promise<void>(resolve => void clock.after(random.below(ms), resolve))
  }
  const around =
    <A extends unknown[], R>(ask: (...how: A) => Promise<R>) =>
    async (...how: A): Promise<R> => {
      await late()
      const answer = await ask(...how)
      await late()
      return answer
    }
  const { admin, checkpoints, sink } = cluster
  return {
    ...cluster,
    admin: {
      ...admin,
      look: around(topics => admin.look(topics)),
      offsets: around((parts, at) => admin.offsets(parts, at)),
      createTopic: around((...how) => admin.createTopic(...how)),
    },
    checkpoints: {
      load: around((...how) => checkpoints.load(...how)),
      save: around((...how) => checkpoints.save(...how)),
    },
    sink: {
      open(...how) {
        const lane = sink.open(...how)
        return {
          send: (batch, tag) => lane.send(batch, tag),
          instead: pieces => lane.instead(pieces),
          recall: () => lane.recall(),
          idle: around((signal: AbortSignal) => lane.idle(signal)),
          inDoubt: () => lane.inDoubt(),
          trouble: () => lane.trouble(),
          close: hard => lane.close(hard),
        }
      },
    },
  }
}

type Process = { flow: string; from: FakeKafka; solo: Solo; events: FlowEvent[]; stop: AbortController }

/** A process of its own with one flow. */
function begin(how: {
  flow: string
  clusters: { from: FakeKafka; to: FakeKafka }
  clock: ManualClock
  random: Random
}): Process {
  const { flow, clusters, clock, random } = how
  const { mirror } = kinds
  if (!mirror) throw new Error('no mirror')
  const views = { from: slow(clusters.from, clock, random), to: slow(clusters.to, clock, random) }
  const events: FlowEvent[] = []
  const stop = new AbortController()
  const spec = mirrorSpec.parse({ from: 'from', to: 'to', topics: { include: ['t'], refreshMs: 1_000 } })
  const solo = startSolo(new Map([[flow, { kind: mirror, spec, overlay: noOverlay }]]), {
    kafka: name => (name === 'from' ? views.from : views.to),
    untilEnd: false,
    clock,
    chance: random.share,
    codec,
    crc: crc32c,
    stop: stop.signal,
    abort: new AbortController().signal,
    tell: (_flow, event) => events.push(event),
    broke() {},
  })
  solo.done.catch(() => {})
  return { flow, from: clusters.from, solo, events, stop }
}

async function overOn<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let ended = false
  const mark = () => {
    ended = true
  }
  promise.then(mark, mark)
  await clock.until(() => ended)
  return promise
}

async function end({ solo, stop }: Process, clock: ManualClock): Promise<void> {
  stop.abort()
  await overOn(clock, solo.done)
}

function rowOf({ solo }: Process) {
  const [flow] = solo.flows()
  const [row] = flow?.report().topics ?? []
  return { state: row?.state, records: row?.records ?? 0 }
}

/** What a flow that was ended has left behind: its offset, and its provenance. */
async function copiedBefore(flow: string, { from, to }: { from: FakeKafka; to: FakeKafka }, clock: ManualClock) {
  const signal = new AbortController().signal
  const ids = { sourceId: from.topicIdOf('t'), destinationId: to.topicIdOf('t') }
  const metadata = checkpointText({ ...ids, epoch: -1, destinationNext: null })
  const entry = { ...part, offset: from.log(part).end, epoch: -1, metadata }
  await overOn(
    clock,
    from.checkpoints.save(`millrace.${flow}`, [entry], () => true, signal),
  )
  to.topic(provenanceTopicName(flow), 1, { ...provenanceTopicConfigs })
  const { clusterId } = from.brokers.state
  const via = { from: clusterId, via: [clusterId], parts: 1, set: [], claims: false, endedMs: 1 }
  const topicId = to.topicIdOf(provenanceTopicName(flow))
  const how = { topicId, mayWrite: () => true, codec, crc: crc32c, clock, signal }
  const record = { flow, topic: 't', src: 't', sourceId: ids.sourceId, ...via }
  await overOn(clock, writeProvenance(to, flow, [record], how))
}

/** Both begin, one a bit later; gives what each shows, how often it has told of a loop, and the end of its source. */
async function raced(seed: number, isAgain: boolean): Promise<string> {
  const clock = manualClock()
  const random = randomOf(seed)
  const account = new MemoryAccount({ poison: true })
  const [east, west] = ['east', 'west'].map(name => fakeKafka({ clock, name, account, chance: random.share }))
  if (!east || !west) throw new Error('two clusters')
  const [there, back] = [
    { from: east, to: west },
    { from: west, to: east },
  ]
  for (const cluster of [east, west]) cluster.topic('t')
  if (isAgain) for (const [flow, ways] of Object.entries({ there, back })) await copiedBefore(flow, ways, clock)
  for (const cluster of [east, west]) cluster.write(part, batchOf([...Array(written).keys()].map(String)))
  const first = begin({ flow: 'there', clusters: there, clock, random })
  await clock.advance(random.below(random.of([1, 1_000])))
  const both = [first, begin({ flow: 'back', clusters: back, clock, random })]
  await clock.advance(settledMs)
  const rows = both.map(rowOf)
  const told = both.map(one => one.events.filter(event => event.code === 'mirror-loop').length)
  const ends = both.map(one => Number(one.from.log(part).end))
  for (const one of both) await end(one, clock)
  return JSON.stringify({ rows, told, ends })
}

for (const isAgain of [false, true]) {
  const when = isAgain ? 'again at the same moment after both were ended' : 'at the same moment'
  test(`of two fleets that begin ${when}, however slow each answer is, one goes on and one copies nothing`, async () => {
    const going = { row: { state: 'running', records: written }, told: 0, end: written }
    const refused = { row: { state: 'refused', records: 0 }, told: 1, end: 2 * written }
    const pairs = [
      [going, refused],
      [refused, going],
    ]
    const right = pairs.map(pair =>
      JSON.stringify({
        rows: pair.map(one => one.row),
        told: pair.map(one => one.told),
        ends: pair.map(one => one.end),
      }),
    )
    const wrong: string[] = []
    for (const seed of seeds) {
      const found = await raced(seed, isAgain)
      if (!right.includes(found)) wrong.push(`seed ${seed}: ${found}`)
    }
    assert.deepEqual(wrong, [])
  })
}
