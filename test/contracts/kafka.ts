import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { windowBytesMax } from '../../engine/limits.ts'
import type { Answer, Entry, KafkaCluster, Lane, Outcome, Part, Position, Stream } from '../../engine/ports/kafka.ts'
import { batchOf, batchOfBytes, loose, valuesOf } from '../fakes/kafka/batches.ts'
import { adminContract } from './kafkaAdmin.ts'

/** A cluster as the contract needs it: the port, and how to make things happen around it. */
export type ContractCluster = {
  kafka: KafkaCluster
  /** Fetch requests sent so far. */
  fetches(): number
  /** Bytes counted in the memory account. */
  heldBytes(): number
  /** A new topic of this name. */
  topic(topic: string, partitions: number): Promise<void>
  /** Deleted, and made anew under the same name: empty, one partition, another id. */
  remake(topic: string): Promise<void>
  /** Records below `offset` are deleted. */
  trim(part: Part, offset: bigint): Promise<void>
  /** Lets happen what happens until `condition` holds; rejects when it does not. */
  until(condition: () => boolean): Promise<void>
  close(): Promise<void>
}

type Batches = Extract<Answer, { is: 'batches' }>
const start: Position = { offset: 0n, epoch: -1 }
const never = new AbortController().signal
let topics = 0

/** What streams, lanes, offsets and admin promise (KAFKA-CLIENT W-71 to W-77): to be called in a `describe`. */
export function kafkaContract(open: () => Promise<ContractCluster>): void {
  let cluster: ContractCluster
  before(async () => {
    cluster = await open()
  })
  after(() => cluster.close())
  streamContract(() => cluster)
  laneContract(() => cluster)
  laneFaultContract(() => cluster)
  storeContract(() => cluster)
  adminContract(() => cluster)
}

function streamContract(of: () => ContractCluster): void {
  test('KAFKA 10: next gives the whole batches of one response at a time, in order', async () => {
    const { lane, stream, kit } = await opened(of())
    await kit.write(lane, [['a', 'b'], ['c']])
    assert.deepEqual(await kit.read(stream, 3), ['a', 'b', 'c'])
    const [one, two] = [kit.next(stream), kit.write(lane, [['d']])]
    const answer = await one
    await two
    assert.equal(answer.is, 'batches')
    assert.deepEqual((answer as Batches).batches.flatMap(valuesOf), ['d'])
    assert.equal((answer as Batches).batches[0]?.header.baseOffset, 3n)
    assert.equal((answer as Batches).end, 4n)
    kit.release(answer)
    await kit.close(stream, lane)
  })

  test('KAFKA 10: an unchanged empty answer wakes nobody, and the signal ends the wait', async () => {
    const { stream, lane, kit, cluster } = await opened(of())
    const first = await kit.next(stream)
    assert.deepEqual([first.is, (first as Batches).batches.length], ['batches', 0])
    const stop = new AbortController()
    let woken = false
    const wait = stream.next(stop.signal).then(
      () => {
        woken = true
      },
      (reason: unknown) => reason,
    )
    await passed(cluster, 3)
    assert.equal(woken, false)
    const reason = new Error('enough')
    stop.abort(reason)
    assert.equal(await wait, reason)
    await kit.close(stream, lane)
  })

  test('KAFKA 10: after out-of-range nothing comes until seek', async () => {
    const { part, lane, kit, cluster } = await opened(of())
    await kit.write(lane, [['a'], ['b']])
    const stream = await kit.stream(part, { offset: 1000n, epoch: -1 })
    assert.deepEqual(await kit.next(stream), { is: 'out-of-range', logStart: 0n, lastStable: 2n, end: 2n })
    const pending = kit.next(stream)
    let came = false
    void pending.then(() => {
      came = true
    })
    await kit.write(lane, [['c']])
    assert.equal(came, false)
    stream.seek(start)
    const answer = await pending
    assert.deepEqual((answer as Batches).batches.flatMap(valuesOf), ['a', 'b', 'c'])
    kit.release(answer)
    await cluster.trim(part, 2n)
    stream.seek(start)
    assert.deepEqual(await kit.next(stream), { is: 'out-of-range', logStart: 2n, lastStable: 3n, end: 3n })
    await kit.close(stream, lane)
  })

  test('a stream over its window stands until half of it is released', async () => {
    const { part, lane, stream, kit, cluster } = await opened(of(), 2)
    const quiet = await kit.stream({ topic: part.topic, partition: 1 }, start)
    const big = batchOfBytes(900_000)
    const enough = Math.ceil(windowBytesMax / big.length) + 4
    await kit.write(lane, Array(enough).fill(big))
    const held: Answer[] = []
    const take = async () => void held.push(await kit.next(stream))
    while (held.reduce((sum, answer) => sum + bytesOf(answer), 0) <= windowBytesMax) await take()
    let pending = take()
    const count = held.length
    await passed(cluster, 4)
    // What was asked for before the window was full may come yet, and nothing after it.
    if (held.length > count) pending = take()
    assert.ok(held.length <= count + 1)
    const most = held.length
    await passed(cluster, 4)
    assert.equal(held.length, most)
    assert.ok(held.reduce((sum, answer) => sum + bytesOf(answer), 0) < enough * big.length)
    for (const answer of held.splice(0, held.length)) kit.release(answer)
    await pending
    assert.ok(bytesOf(held[0] as Answer) > 0)
    kit.release(held[0] as Answer)
    quiet.close()
    await kit.close(stream, lane)
  })

  test('two streams of one partition each get all of it', async () => {
    const { part, stream, lane, kit } = await opened(of())
    const other = await kit.stream(part, start)
    const values = [...Array(20).keys()].map(String)
    await kit.write(
      lane,
      values.map(value => [value]),
    )
    assert.deepEqual(await Promise.all([kit.read(stream, 20), kit.read(other, 20)]), [values, values])
    stream.close()
    await kit.write(lane, [['more']])
    assert.deepEqual(await kit.read(other, 1), ['more'])
    await kit.close(other, lane)
  })

  test('what a flow made counts until it is released, and a release too many throws', async () => {
    const { stream, lane, kit, cluster } = await opened(of())
    const before = cluster.heldBytes()
    const made = stream.made(batchOfBytes(10_000))
    assert.equal(cluster.heldBytes() - before, made.bytes.length)
    made.retain()
    made.release()
    made.release()
    assert.equal(cluster.heldBytes(), before)
    assert.throws(() => made.release())
    await kit.close(stream, lane)
  })

  test('a stream of another topic id is told of the new one', async () => {
    const { part, lane, kit, cluster } = await opened(of())
    const view = await kit.look(part.topic)
    const other = `${view.topicId.slice(0, -4)}AAAA`
    const stream = cluster.kafka
      .source({ isolation: 'read_committed', rack: null })
      .open({ ...part, topicId: other }, start)
    assert.deepEqual(await kit.next(stream), { is: 'recreated', topicId: view.topicId })
    await kit.close(stream, lane)
  })
}

function laneContract(of: () => ContractCluster): void {
  test('KAFKA 10: outcomes come in the order of send, with the offsets they got', async () => {
    const { lane, outcomes, kit, stream } = await opened(of())
    for (let i = 0; i < 40; i++) kit.send(lane, [`v${i}`, 'w'], i)
    await lane.idle(never)
    assert.deepEqual(
      outcomes,
      Array.from({ length: 40 }, (_, i) => ({ is: 'acked', tag: i, baseOffset: BigInt(2 * i) })),
    )
    assert.equal((await kit.read(stream, 80)).length, 80)
    assert.equal(lane.trouble(), null)
    await kit.close(stream, lane)
  })

  test('KAFKA 10: the lease is asked at each write: a batch without it stays queued, unreported, and goes later', async () => {
    const { lane, outcomes, kit, stream, may, cluster } = await opened(of())
    kit.send(lane, ['a'], 1)
    await lane.idle(never)
    may.write = false
    kit.send(lane, ['b'], 2)
    const asked = may.asked
    await cluster.until(() => may.asked >= asked + 3)
    assert.deepEqual(outcomes.map(tagOf), [1])
    may.write = true
    await lane.idle(never)
    assert.deepEqual(outcomes.map(tagOf), [1, 2])
    await kit.close(stream, lane)
  })

  test('KAFKA 10: recall gives what was never written, but never the oldest unanswered batch', async () => {
    const { lane, outcomes, kit, stream, may } = await opened(of())
    await kit.write(lane, [['first']])
    kit.send(lane, ['a'], 'a')
    kit.send(lane, ['b'], 'b')
    await turns()
    may.write = false
    for (const tag of ['c', 'd', 'e']) kit.send(lane, [tag], tag)
    assert.deepEqual(lane.recall(), ['c', 'd', 'e'])
    await lane.idle(never)
    for (const tag of ['f', 'g', 'h']) kit.send(lane, [tag], tag)
    assert.deepEqual(lane.recall(), ['g', 'h'])
    may.write = true
    await lane.idle(never)
    assert.deepEqual(outcomes.map(tagOf).slice(1), ['a', 'b', 'f'])
    assert.deepEqual(await kit.read(stream, 4), ['first', 'a', 'b', 'f'])
    assert.deepEqual(kit.leaked(), 0)
    await kit.close(stream, lane)
  })

  test('KAFKA 10: after cut nothing of five open batches is reported', async () => {
    const { lane, outcomes, kit, stream, may, cluster } = await opened(of())
    await kit.write(lane, [['first']])
    outcomes.length = 0
    for (let i = 0; i < 5; i++) kit.send(lane, [`v${i}`], i)
    await turns()
    may.write = false
    cluster.kafka.cut()
    const asked = may.asked
    await cluster.until(() => may.asked >= asked + 5)
    assert.deepEqual(outcomes, [])
    // Whatever the broker took of them, with the lease again each is there once.
    may.write = true
    await lane.idle(never)
    assert.deepEqual(outcomes.map(tagOf), [0, 1, 2, 3, 4])
    assert.deepEqual(await kit.read(stream, 6), ['first', 'v0', 'v1', 'v2', 'v3', 'v4'])
    await kit.close(stream, lane)
  })

  test('a closed lane reports nothing, gives its batches back, and another one goes on', async () => {
    const { part, lane, outcomes, kit, stream, may } = await opened(of())
    await kit.write(lane, [['first']])
    may.write = false
    kit.send(lane, ['a'], 1)
    lane.close(false)
    may.write = true
    const second = kit.lane(part)
    kit.send(second.lane, ['b'], 2)
    await second.lane.idle(never)
    assert.deepEqual(outcomes.map(tagOf), [0])
    assert.deepEqual(second.outcomes.map(tagOf), [2])
    assert.deepEqual(await kit.read(stream, 2), ['first', 'b'])
    assert.equal(kit.leaked(), 0)
    await kit.close(stream, second.lane)
  })

  test('two lanes of one partition take turns, and each keeps its order', async () => {
    const { part, lane, outcomes, kit, stream } = await opened(of())
    const other = kit.lane(part)
    for (let i = 0; i < 10; i++) {
      kit.send(lane, [`a${i}`], i)
      kit.send(other.lane, [`b${i}`], i)
    }
    await Promise.all([lane.idle(never), other.lane.idle(never)])
    const all = [...Array(10).keys()]
    assert.deepEqual([outcomes.map(tagOf), other.outcomes.map(tagOf)], [all, all])
    const values = await kit.read(stream, 20)
    for (const name of ['a', 'b'])
      assert.deepEqual(
        values.filter(value => value.startsWith(name)),
        all.map(i => `${name}${i}`),
      )
    other.lane.close(false)
    await kit.close(stream, lane)
  })
}

function laneFaultContract(of: () => ContractCluster): void {
  test('a refused batch stops its lane until something stands in its place', async () => {
    const { lane, outcomes, kit, stream, cluster } = await opened(of())
    await kit.write(lane, [['first']])
    outcomes.length = 0
    const thin = batchOf(['x', 'y'])
    thin.writeInt32BE(2, 23)
    kit.sendBytes(lane, thin, 'thin')
    kit.send(lane, ['b'], 'b')
    await cluster.until(() => outcomes.length > 0)
    assert.deepEqual(
      outcomes.map(({ is }) => is),
      ['refused'],
    )
    assert.deepEqual(tagOf(outcomes[0] as Outcome<unknown>), 'thin')
    const piece = loose(batchOf(['a']))
    lane.instead([[piece, 'a']])
    piece.release()
    await lane.idle(never)
    assert.deepEqual(outcomes.map(tagOf), ['thin', 'a', 'b'])
    assert.equal(piece.references, 0)
    kit.sendBytes(lane, Buffer.from(thin), 'again')
    kit.send(lane, ['c'], 'c')
    await cluster.until(() => outcomes.length > 3)
    lane.instead([])
    await lane.idle(never)
    assert.deepEqual(outcomes.map(tagOf), ['thin', 'a', 'b', 'again', 'c'])
    assert.deepEqual(await kit.read(stream, 4), ['first', 'a', 'b', 'c'])
    await kit.close(stream, lane)
  })

  test('a lane to a topic that is not there is in trouble, and nothing is lost when it comes', async () => {
    const cluster = of()
    const kit = kitOf(cluster)
    const topic = kit.newName()
    const { lane, outcomes } = kit.lane({ topic, partition: 0 })
    kit.send(lane, ['a'], 1)
    await cluster.until(() => lane.trouble() !== null)
    assert.deepEqual([lane.trouble()?.code, lane.trouble()?.kafka], ['destination-missing', 3])
    await cluster.topic(topic, 1)
    await cluster.until(() => outcomes.length === 1)
    assert.deepEqual(outcomes, [{ is: 'acked', tag: 1, baseOffset: 0n }])
    assert.equal(lane.trouble(), null)
    lane.close(false)
  })

  test('idle ends with its signal', async () => {
    const { lane, kit, stream, may } = await opened(of())
    may.write = false
    kit.send(lane, ['a'], 1)
    const reason = new Error('enough')
    const stop = new AbortController()
    const idle = lane.idle(stop.signal).catch((error: unknown) => error)
    stop.abort(reason)
    assert.equal(await idle, reason)
    await kit.close(stream, lane)
  })
}

function storeContract(of: () => ContractCluster): void {
  test('offsets are stored and read, 0 included, and only those that are there', async () => {
    const { part, kit, stream, lane, cluster } = await opened(of(), 3)
    const group = `g-${part.topic}`
    const entry = (partition: number, offset: bigint): Entry => ({
      ...part,
      partition,
      offset,
      epoch: 3,
      metadata: 'm',
    })
    const yes = () => true
    const saves = [entry(0, 0n), entry(1, 7n)].map(one => cluster.kafka.checkpoints.save(group, [one], yes, never))
    assert.deepEqual(await Promise.all(saves), [[], []])
    const parts = [0, 1, 2].map(partition => ({ topic: part.topic, partition }))
    const byPartition = (a: Entry, b: Entry) => a.partition - b.partition
    const expected = [entry(0, 0n), entry(1, 7n)]
    assert.deepEqual((await cluster.kafka.checkpoints.load(group, parts, never)).sort(byPartition), expected)
    assert.deepEqual((await cluster.kafka.checkpoints.load(group, 'all', never)).sort(byPartition), expected)
    await kit.close(stream, lane)
  })

  test('nothing is stored without the lease, and save ends with its signal', async () => {
    const { part, kit, stream, lane, cluster } = await opened(of())
    const group = `g-${part.topic}`
    const stop = new AbortController()
    let asked = 0
    const no = () => {
      asked++
      return false
    }
    const entries = [{ ...part, offset: 5n, epoch: -1, metadata: '' }]
    const save = cluster.kafka.checkpoints.save(group, entries, no, stop.signal).catch((error: unknown) => error)
    await cluster.until(() => asked >= 2)
    const reason = new Error('enough')
    stop.abort(reason)
    await cluster.until(() => asked >= 2)
    assert.equal(await save, reason)
    assert.deepEqual(await cluster.kafka.checkpoints.load(group, [part], never), [])
    await assert.rejects(
      cluster.kafka.checkpoints.save('', entries, () => true, never),
      RangeError,
    )
    await kit.close(stream, lane)
  })
}

/** A topic of its own with a stream and a lane on its first partition. */
async function opened(cluster: ContractCluster, partitions = 1) {
  const kit = kitOf(cluster)
  const part = { topic: kit.newName(), partition: 0 }
  await cluster.topic(part.topic, partitions)
  const stream = await kit.stream(part, start)
  return { cluster, kit, part, stream, ...kit.lane(part) }
}

function kitOf(cluster: ContractCluster) {
  const sent: ReturnType<typeof loose>[] = []
  const kit = {
    newName: () => `contract-${process.pid}-${Date.now() % 1e6}-${topics++}`,
    /** Sends and gives up its own reference; `leaked` counts what the lane kept. */
    sendBytes(lane: Lane<unknown>, bytes: Buffer, tag: unknown) {
      const batch = loose(Buffer.from(bytes))
      sent.push(batch)
      lane.send(batch, tag)
      batch.release()
    },
    send: (lane: Lane<unknown>, values: string[], tag: unknown) => kit.sendBytes(lane, batchOf(values), tag),
    async write(lane: Lane<unknown>, batches: (string[] | Buffer)[]) {
      batches.forEach((one, i) => {
        if (Buffer.isBuffer(one)) kit.sendBytes(lane, one, i)
        else kit.send(lane, one, i)
      })
      await lane.idle(never)
    },
    lane(part: Part) {
      const outcomes: Outcome<unknown>[] = []
      const may = { write: true, asked: 0 }
      const mayWrite = () => {
        may.asked++
        return may.write
      }
      return {
        lane: cluster.kafka.sink.open<unknown>({ ...part, topicId: '' }, mayWrite, outcome => outcomes.push(outcome)),
        outcomes,
        may,
      }
    },
    async look(topic: string) {
      const view = (await cluster.kafka.admin.look([topic])).topics[0]
      assert.ok(view)
      return view
    },
    async stream(part: Part, at: Position) {
      const { topicId } = await kit.look(part.topic)
      return cluster.kafka.source({ isolation: 'read_committed', rack: null }).open({ ...part, topicId }, at)
    },
    next: (stream: Stream) => stream.next(never),
    /** The values of so many records, whatever answers they come in. */
    async read(stream: Stream, count: number) {
      const values: string[] = []
      while (values.length < count) {
        const answer = await kit.next(stream)
        assert.equal(answer.is, 'batches')
        values.push(...(answer as Batches).batches.flatMap(valuesOf))
        kit.release(answer)
      }
      return values
    },
    release(answer: Answer) {
      if (answer.is === 'batches') for (const batch of answer.batches) batch.release()
    },
    leaked: () => sent.filter(batch => batch.references > 0).length,
    async close(stream: Stream, lane: Lane<unknown>) {
      stream.close()
      lane.close(false)
    },
  }
  return kit
}

function tagOf(outcome: Outcome<unknown>): unknown {
  return outcome.is === 'fenced' ? outcome : outcome.tag
}

function bytesOf(answer: Answer): number {
  return answer.is === 'batches' ? answer.batches.reduce((sum, batch) => sum + batch.bytes.length, 0) : 0
}

/** So many more fetches have been sent. */
async function passed(cluster: ContractCluster, fetches: number): Promise<void> {
  const last = cluster.fetches() + fetches
  await cluster.until(() => cluster.fetches() >= last)
}

/** Long enough for all that happens without a socket, and too short for one. */
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}
