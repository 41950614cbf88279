import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '../../../engine/ports/kafka.ts'
import { manualClock } from '../../fakes/clock.ts'
import { batchOf, loose, valuesOf } from '../../fakes/kafka/batches.ts'
import { fakeKafka } from '../../fakes/kafka/cluster.ts'

const part = { topic: 't', partition: 0, topicId: '' }
const batchBytesMax = 1_000

function opened() {
  const clock = manualClock()
  const fake = fakeKafka({ clock })
  fake.topic('t')
  fake.log(part).batchBytesMax = batchBytesMax
  const outcomes: Outcome<string>[] = []
  const lane = fake.sink.open<string>(
    part,
    () => true,
    outcome => outcomes.push(outcome),
  )
  const send = (name: string, count: number, bytes = 1) => lane.send(piece(name, count, bytes), name)
  const written = () => fake.log(part).batches.map(kept => kept.header.baseSequence)
  const values = () => fake.log(part).batches.flatMap(valuesOf)
  return { clock, fake, lane, outcomes, send, written, values }
}

function piece(name: string, count: number, bytes = 1) {
  return loose(batchOf(Array.from({ length: count }, (_, i) => `${name}${i}`.padEnd(bytes, '.'))))
}

const brief = (outcome: Outcome<string>) => (outcome.is === 'fenced' ? 'fenced' : `${outcome.is} ${outcome.tag}`)

test('KAFKA 11: two pieces take the place of a refused batch, and the sequences go on without a hole', async () => {
  const { clock, fake, lane, outcomes, send, written } = opened()
  send('a', 10)
  send('b', 10, 200)
  send('c', 10)
  await clock.until(() => outcomes.length === 2)
  assert.deepEqual(outcomes.map(brief), ['acked a', 'refused b'])
  assert.equal(outcomes[1]?.is === 'refused' && outcomes[1].code, 10)
  await clock.advance(60_000)
  assert.equal(outcomes.length, 2)
  lane.instead([
    [piece('b1', 5), 'b1'],
    [piece('b2', 5), 'b2'],
  ])
  await clock.until(() => outcomes.length === 5)
  assert.deepEqual(outcomes.slice(2).map(brief), ['acked b1', 'acked b2', 'acked c'])
  assert.deepEqual(written(), [0, 10, 15, 20])
  assert.equal(fake.counts().producerResets, 0)
})

test('KAFKA 11: with nothing in the place of a refused batch the one behind it gets its sequence', async () => {
  const { clock, fake, lane, outcomes, send, written } = opened()
  send('a', 10)
  send('b', 10, 200)
  send('c', 10)
  await clock.until(() => outcomes.length === 2)
  lane.instead([])
  await clock.until(() => outcomes.length === 3)
  assert.deepEqual(outcomes.map(brief), ['acked a', 'refused b', 'acked c'])
  assert.deepEqual(written(), [0, 10])
  assert.equal(fake.counts().producerResets, 0)
})

test('KAFKA 11: a piece that is refused in its turn is replaced too', async () => {
  const { clock, lane, outcomes, send, written } = opened()
  send('a', 4)
  send('b', 8, 400)
  await clock.until(() => outcomes.length === 2)
  lane.instead([
    [piece('b1', 4, 400), 'b1'],
    [piece('b2', 4), 'b2'],
  ])
  await clock.until(() => outcomes.length === 3)
  assert.deepEqual(outcomes.map(brief).at(-1), 'refused b1')
  lane.instead([
    [piece('b11', 2), 'b11'],
    [piece('b12', 2), 'b12'],
  ])
  await clock.until(() => outcomes.length === 6)
  assert.deepEqual(written(), [0, 4, 6, 8])
})

test('a lost answer is asked for again under the same sequence, and nothing is doubled', async () => {
  const { clock, fake, outcomes, send, values, written } = opened()
  send('a', 1)
  await clock.until(() => outcomes.length === 1)
  fake.loseAnswer(part)
  for (const name of ['b', 'c', 'd']) send(name, 1)
  await clock.until(() => outcomes.length === 4)
  assert.deepEqual(values(), ['a0', 'b0', 'c0', 'd0'])
  assert.deepEqual(written(), [0, 1, 2, 3])
  assert.equal(fake.counts().producerResets, 0)
})

test('after an error that says nothing of the batch all behind it come again in order', async () => {
  const { clock, fake, outcomes, send, values } = opened()
  send('a', 1)
  await clock.until(() => outcomes.length === 1)
  for (const [code, taken] of [
    [7, true],
    [19, false],
    [-1, false],
    [2, false],
  ] as const) {
    fake.failNextProduce(part, code, taken)
    const before = outcomes.length
    for (const name of ['b', 'c', 'd', 'e']) send(`${name}${code}`, 1)
    if (code === 2) break
    await clock.until(() => outcomes.length === before + 4)
    assert.deepEqual(
      values().slice(-4),
      ['b', 'c', 'd', 'e'].map(name => `${name}${code}0`),
    )
  }
  await clock.until(() => outcomes.at(-1)?.is === 'refused')
  assert.equal(fake.counts().producerResets, 0)
})

test('a moved leader gets what the old one did not take', async () => {
  const clock = manualClock()
  const fake = fakeKafka({ clock, brokers: 2 })
  fake.topic('t')
  const outcomes: Outcome<number>[] = []
  const lane = fake.sink.open<number>(
    part,
    () => true,
    outcome => outcomes.push(outcome),
  )
  for (let i = 0; i < 50; i++) {
    lane.send(loose(batchOf([`v${i}`])), i)
    if (i % 10 === 5) fake.moveLeader(part, (i / 5) % 2)
    await clock.advance(1)
  }
  await clock.until(() => outcomes.length === 50)
  assert.deepEqual(
    fake.log(part).batches.flatMap(valuesOf),
    Array.from({ length: 50 }, (_, i) => `v${i}`),
  )
  await fake.close()
})

/** Produce 12 goes by topic name: the brokers cannot tell which topic of that name is meant. */
function byName() {
  const clock = manualClock()
  const fake = fakeKafka({ clock, caps: new Map([[0, 12]]) })
  fake.topic('t')
  const laneTo = (topicId: string) => {
    const outcomes: (string | number)[] = []
    const lane = fake.sink.open<string>(
      { topic: 't', partition: 0, topicId },
      () => true,
      outcome => outcomes.push(outcome.is === 'refused' ? outcome.code : outcome.is),
    )
    return { outcomes, send: (name: string) => lane.send(piece(name, 1), name), close: () => lane.close(false) }
  }
  const values = () => fake.log(part).batches.flatMap(valuesOf)
  const learn = async () => {
    const look = fake.admin.look(['t'])
    await clock.advance(10)
    await look
  }
  return { clock, fake, laneTo, values, learn }
}

test('a lane without an id means the topic first seen: what it sends to one made anew is refused', async () => {
  const { clock, fake, laneTo, values, learn } = byName()
  const any = laneTo('')
  any.send('a')
  await clock.until(() => any.outcomes.length === 1)
  fake.recreateTopic('t')
  await learn()
  any.send('b')
  await clock.until(() => any.outcomes.length === 2)
  assert.deepEqual([any.outcomes, values()], [['acked', 100], []])
  await fake.close()
})

test('behind a batch that is under way none is written for another topic of that name', async () => {
  const { clock, fake, laneTo, values } = byName()
  const old = fake.topicIdOf('t')
  const { topicId } = fake.recreateTopic('t')
  const [late, right] = [laneTo(old), laneTo(topicId)]
  right.send('a')
  await clock.until(() => right.outcomes.length === 1)
  const release = fake.holdAnswers(0, 'Produce')
  right.send('b')
  late.send('wrong')
  right.send('c')
  await clock.advance(1_000)
  release()
  await clock.until(() => late.outcomes.length === 1)
  late.close()
  await clock.until(() => right.outcomes.length === 3)
  assert.deepEqual([late.outcomes, right.outcomes], [[100], ['acked', 'acked', 'acked']])
  assert.deepEqual(values(), ['a0', 'b0', 'c0'])
  await fake.close()
})

test('a topic made anew while a batch is under way gets none of those behind it', async () => {
  const { clock, fake, laneTo, values, learn } = byName()
  const lane = laneTo(fake.topicIdOf('t'))
  lane.send('a')
  await clock.until(() => lane.outcomes.length === 1)
  const release = fake.holdAnswers(0, 'Produce')
  lane.send('b')
  await clock.advance(10)
  fake.recreateTopic('t')
  await learn()
  lane.send('c')
  await clock.advance(1_000)
  release()
  await clock.until(() => lane.outcomes.length === 3)
  assert.deepEqual([lane.outcomes, values()], [['acked', 'acked', 100], []])
  await fake.close()
})
