import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unacknowledged } from '../flow/unacknowledged.ts'
import { type Entry, type Ledger, ledger } from './ledger.ts'
import { mirrorOf } from './mirrorOf.ts'
import { type Random, randomOf } from './random.ts'

const steps = 10_000
const partitions = 4
const brokers = 2
/** One seed is played again with MILLRACE_SEED=n. */
const seeds = process.env['MILLRACE_SEED'] ? [Number(process.env['MILLRACE_SEED'])] : [1, 2]

type Mirror = ReturnType<typeof mirrorOf>
type Play = { mirror: Mirror; records: Ledger; random: Random; heals: Map<string, () => void> }
/** What may happen in a step, and how often against the others. */
type Move = { weight: number; name: string; make: (play: Play) => void | Promise<void> }

const somePart = ({ random }: Play) => ({ topic: 't', partition: random.below(partitions) })

/** Errors of a Produce that say nothing of the batch, some of them though it was written (§5). */
const doubtful = [3, 5, 6, 7, 9, 19, 20, 56, 72, 74, 89, -1]
/** Errors that stop the unit, which then begins again. */
const refusals = [2, 10, 87, 32]

/** One at a time for each partition: the copy must get somewhere. */
function failOne(play: Play, codes: readonly number[], taken: boolean): void {
  const part = somePart(play)
  const { west } = play.mirror
  const code = play.random.of(codes)
  if (!west.brokers.produceFaults.some(fault => fault.part.partition === part.partition))
    west.failNextProduce(part, code, taken)
}

const moves: Move[] = [
  { weight: 60, name: 'write', make: play => play.records.write(somePart(play), 1 + play.random.below(4)) },
  {
    weight: 6,
    name: 'transaction',
    make: play => play.records.transaction(somePart(play), play.random.below(2) === 0),
  },
  {
    weight: 2,
    name: 'truncate',
    make: play => play.records.truncate(somePart(play), 1 + play.random.below(6)),
  },
  { weight: 2, name: 'trimTo', make: play => play.records.trim(somePart(play), 1 + play.random.below(8)) },
  { weight: 0.2, name: 'recreateTopic', make: play => play.records.recreate() },
  { weight: 8, name: 'failNextProduce', make: play => failOne(play, doubtful, play.random.below(2) === 0) },
  { weight: 1, name: 'refuse', make: play => failOne(play, refusals, false) },
  { weight: 5, name: 'loseAnswer', make: play => play.mirror.west.loseAnswer(somePart(play)) },
  {
    weight: 2,
    name: 'holdAnswers',
    make({ mirror, random, heals }) {
      const cluster = random.of([mirror.east, mirror.west])
      const broker = random.below(brokers)
      const key = `hold ${cluster === mirror.east} ${broker}`
      if (!heals.has(key)) heals.set(key, cluster.holdAnswers(broker, random.of([null, 'Fetch', 'Produce'])))
    },
  },
  {
    weight: 3,
    name: 'corruptNextBatch',
    make: play => {
      const part = somePart(play)
      const { mirror, random } = play
      mirror.east.corruptNextBatch(part, mirror.east.log(part).end - BigInt(random.below(5)), 1 + random.below(6))
    },
  },
  {
    weight: 3,
    name: 'moveLeader',
    make: play => {
      const { mirror, random } = play
      random.of([mirror.east, mirror.west]).moveLeader(somePart(play), random.below(brokers))
    },
  },
  {
    weight: 2,
    name: 'resetLinks',
    make: ({ mirror, random }) => random.of([mirror.east, mirror.west]).resetLinks(random.below(brokers)),
  },
  {
    weight: 1,
    name: 'stopBroker',
    make({ mirror, random, heals }) {
      const cluster = random.of([mirror.east, mirror.west])
      const broker = random.below(brokers)
      cluster.stopBroker(broker)
      heals.set(`stop ${cluster === mirror.east} ${broker}`, () => cluster.startBroker(broker))
    },
  },
  {
    weight: 8,
    name: 'heal',
    make({ heals }) {
      for (const [key, heal] of heals) {
        heals.delete(key)
        heal()
      }
    },
  },
  {
    weight: 0.3,
    name: 'restart',
    async make(play) {
      for (const heal of play.heals.values()) heal()
      play.heals.clear()
      const { east, west, stop } = play.mirror
      const crash = play.random.below(2) === 0
      // A process that dies takes its connections with it.
      if (crash) for (const cluster of [east, west]) for (let b = 0; b < brokers; b++) cluster.resetLinks(b)
      await stop(crash)
      await play.mirror.start()
    },
  },
  { weight: 40, name: 'wait', make: play => play.mirror.clock.advance(play.random.below(40)) },
  { weight: 0.5, name: 'wait long', make: play => play.mirror.clock.advance(play.random.below(60_000)) },
]

for (const seed of seeds) {
  test(`MIRROR 30: ${steps} steps with every vice lose nothing and keep the order (MILLRACE_SEED=${seed})`, async () => {
    const random = randomOf(seed)
    const mirror = mirrorOf({ brokers, chance: () => random.share() })
    for (const cluster of [mirror.east, mirror.west]) cluster.topic('t', partitions)
    const play: Play = { mirror, random, records: ledger(mirror.east, 't', partitions), heals: new Map() }
    await mirror.start()
    const trace: string[] = []
    try {
      for (let step = 0; step < steps; step++) {
        const move = random.weighted(moves)
        trace.push(`${step} ${mirror.clock.nowMs()} ms: ${move.name}`)
        await move.make(play)
      }
      trace.push('the end')
      for (const heal of play.heals.values()) heal()
      await quiet(mirror)
      check(play)
      await mirror.stop()
      assert.equal(mirror.east.account.heldBytes, 0)
    } catch (error) {
      const last = trace.slice(-20).join('\n')
      throw new Error(`MILLRACE_SEED=${seed} plays it again; the last steps:\n${last}`, { cause: error })
    }
  })
}

/** Until every partition stands at the end of its log, acknowledged. */
async function quiet(mirror: Mirror): Promise<void> {
  const done = () =>
    [...mirror.units()].filter(
      unit => unit.window.position === mirror.east.log(unit.part).end && unacknowledged(unit.window) === 0,
    ).length === partitions
  await mirror.clock.until(done, 3_600_000)
}

function check({ mirror, records }: Play): void {
  let copied = 0
  for (let partition = 0; partition < partitions; partition++) {
    const first = records.firstOccurrences(mirror.west, partition)
    for (let i = 1; i < first.length; i++)
      assert.ok(
        (first[i - 1] as number) < (first[i] as number),
        `${partition}: ${first[i]} comes after ${first[i - 1]}`,
      )
    const there = new Set(first)
    copied += first.length
    for (const record of records.of(partition)) {
      const { id, offset, fate, topicId } = record
      if (there.has(id)) assert.notEqual(fate, 'aborted', `${partition}: aborted record ${id} was copied`)
      else {
        const excused =
          ['cut', 'aborted', 'topic gone'].includes(fate) || counted(mirror, records, there, partition, record)
        assert.ok(excused, `${partition}: record ${id} at ${offset} of ${topicId} (${fate}) is lost, and not counted`)
      }
    }
  }
  assert.ok(copied > steps / 2, `${copied} records were copied`)
}

/**
 * Deleted before it was read: in a gap, before the first record that was read of a topic, after the last one of a
 * topic that went away (M-70 tells only where it goes on), or where the log was cut and had grown again: when both are
 * gone nobody can tell that there were others (M-72).
 */
function counted(mirror: Mirror, records: Ledger, there: Set<number>, partition: number, record: Entry): boolean {
  if (record.fate !== 'trimmed') return false
  const gaps = mirror.events.filter(event => event.code === 'source-gap' && event.partition === partition)
  if (gaps.some(gap => (gap.from ?? 0n) <= record.offset && record.offset < (gap.to ?? 0n))) return true
  const same = records.of(partition).filter(r => r.topicId === record.topicId)
  const read = same.filter(r => there.has(r.id))
  if (!read.some(r => r.id < record.id)) return true
  if (record.topicId !== records.of(partition).at(-1)?.topicId && !read.some(r => r.id > record.id)) return true
  return same.some(r => r.id < record.id && r.offset >= record.offset)
}
