import '../../properties.ts'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { Batch, Lane, Outcome, Part } from '../../../engine/ports/kafka.ts'
import { manualClock } from '../../fakes/clock.ts'
import { batchOf, loose, valuesOf } from '../../fakes/kafka/batches.ts'
import { type FakeKafka, fakeKafka } from '../../fakes/kafka/cluster.ts'

type Range = { from: number; count: number }
type Step = { do: Deed; n: number }

/** What may happen, and how often beside the other things. */
const weights = {
  send: 8,
  wait: 8,
  fail: 3,
  decide: 3,
  recall: 1,
  lease: 2,
  loseAnswer: 1,
  reset: 1,
  move: 1,
  stop: 1,
  start: 2,
  reopen: 1,
}
type Deed = keyof typeof weights
const deeds = (Object.keys(weights) as Deed[]).flatMap(deed => Array<Deed>(weights[deed]).fill(deed))

/** Kafka's number, and whether the batch may be in the log all the same. */
const faults = [
  { code: 7, taken: true },
  { code: 7, taken: false },
  { code: 6, taken: true },
  { code: 19, taken: false },
  { code: -1, taken: true },
  { code: 3, taken: false },
  { code: 10, taken: false },
  { code: 87, taken: false },
  { code: 45, taken: false },
  { code: 59, taken: false },
  { code: 999, taken: true },
]

/** A flow that writes 0, 1, 2 … under its name over a lane, and goes on at the first that it knows nothing of. */
function flowOf(fake: FakeKafka, part: Part, name: string) {
  let lane: Lane<Range>
  let sent: Range[] = []
  const batches: (Batch & { references: number })[] = []
  const flow = {
    position: 0,
    end: 0,
    mayWrite: true,
    refused: null as Range | null,
    skipped: new Set<number>(),
    part,
    name,
    batches,
    idle: () => sent.length === 0,

    send(count: number) {
      const range = { from: flow.position, count }
      flow.position += count
      flow.end = Math.max(flow.end, flow.position)
      sent.push(range)
      const batch = flow.batch(range)
      lane.send(batch, range)
      batch.release()
    },
    batch({ from, count }: Range) {
      const batch = loose(batchOf(Array.from({ length: count }, (_, i) => `${name} ${from + i}`)))
      batches.push(batch)
      return batch
    },
    hear(outcome: Outcome<Range>) {
      assert.notEqual(outcome.is, 'fenced')
      if (outcome.is === 'fenced') return
      assert.equal(flow.refused, null)
      assert.deepEqual(outcome.tag, sent[0])
      if (outcome.is === 'acked') sent.shift()
      else flow.refused = outcome.tag
    },
    decide(how: number) {
      const { refused } = flow
      if (!refused) return
      flow.refused = null
      const half = refused.count >> 1
      const pieces = [
        { ...refused, count: half },
        { from: refused.from + half, count: refused.count - half },
      ]
      const kept = how % 3 === 0 ? [] : how % 3 === 1 ? [refused] : pieces.filter(piece => piece.count > 0)
      if (kept.length === 0) for (let i = 0; i < refused.count; i++) flow.skipped.add(refused.from + i)
      sent.splice(0, 1, ...kept)
      const made = kept.map(range => [flow.batch(range), range] as [ReturnType<typeof flow.batch>, Range])
      lane.instead(made)
      for (const [batch] of made) batch.release()
    },
    recall() {
      const back = lane.recall()
      if (back[0]) flow.position = back[0].from
      sent = sent.filter(range => !back.includes(range))
    },
    open() {
      lane = fake.sink.open<Range>({ ...part, topicId: '' }, () => flow.mayWrite, flow.hear)
    },
    /** As a unit that ends and is started again: from the first that was not acknowledged. */
    reopen(hard: boolean) {
      lane.close(hard)
      flow.position = sent[0]?.from ?? flow.position
      flow.refused = null
      sent = []
      flow.open()
    },
  }
  flow.open()
  return flow
}

async function play(steps: readonly Step[], byName: boolean) {
  const clock = manualClock()
  const fake = fakeKafka({ clock, brokers: 2, ...(byName ? { caps: new Map([[0, 12]]) } : {}) })
  fake.topic('t', 2)
  const parts = [
    { topic: 't', partition: 0 },
    { topic: 't', partition: 1 },
  ]
  const flows = parts.flatMap(part => ['a', 'b'].map(name => flowOf(fake, part, name)))
  const acts: Record<Deed, (n: number) => void | Promise<void>> = {
    send: n => {
      for (let i = 0; i <= (n >> 2) % 4; i++) flows[n % 4]?.send(1 + ((n >> (4 + i)) % 3))
    },
    wait: n => clock.advance([0, 1, 2, 5, 50, 500][n % 6] ?? 0),
    fail: n => {
      const { code, taken } = faults[(n >> 1) % faults.length] ?? { code: 7, taken: false }
      fake.failNextProduce(parts[n % 2] as Part, code, taken)
    },
    decide: n => flows[n % 4]?.decide(n >> 2),
    recall: n => flows[n % 4]?.recall(),
    lease: n => {
      const flow = flows[n % 4]
      if (flow) flow.mayWrite = (n >> 2) % 3 !== 0
    },
    loseAnswer: n => fake.loseAnswer(parts[n % 2] as Part),
    reset: n => fake.resetLinks(n % 2),
    move: n => fake.moveLeader(parts[n % 2] as Part, (n >> 1) % 2),
    stop: n => fake.stopBroker(n % 2),
    start: n => fake.startBroker(n % 2),
    reopen: n => flows[n % 4]?.reopen((n >> 2) % 2 === 0),
  }
  for (const step of steps) await acts[step.do](step.n)

  // From here on all is well: whatever is there must come through.
  for (const broker of [0, 1]) fake.startBroker(broker)
  fake.brokers.produceFaults.length = 0
  for (const flow of flows) {
    flow.mayWrite = true
    while (flow.position < flow.end) flow.send(1)
  }
  for (let round = 0; !flows.every(flow => flow.idle()); round++) {
    assert.ok(round < 1_000, 'batches that nothing moves any more')
    for (const flow of flows) flow.decide(1)
    await clock.advance(100)
  }
  await clock.advance(60_000)
  await fake.close()
  return { fake, flows }
}

const steps = fc.array(fc.record({ do: fc.constantFrom(...deeds), n: fc.nat(1023) }), { maxLength: 120, size: 'max' })

it('lanes lose nothing and keep their order, whatever brokers, links, leases and flows do', async () => {
  const property = fc.asyncProperty(steps, fc.boolean(), async (given, byName) => {
    const { fake, flows } = await play(given, byName)
    for (const { part, name, end, skipped, batches } of flows) {
      const values = fake
        .log(part)
        .batches.flatMap(valuesOf)
        .filter(value => value.startsWith(name))
      const first = [...new Set(values.map(value => Number(value.slice(2))))].filter(id => !skipped.has(id))
      const wanted = Array.from({ length: end }, (_, id) => id).filter(id => !skipped.has(id))
      assert.deepEqual(first, wanted)
      assert.deepEqual(
        batches.filter(batch => batch.references !== 0),
        [],
      )
    }
  })
  await fc.assert(property, { numRuns: 300 })
})
