import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fetchApi } from '../../engine/adapters/kafka/frames/fetch.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { nextOffset } from '../../engine/batch/header.ts'
import type { Answer, Part, Position, Stream } from '../../engine/ports/kafka.ts'
import { javaTool } from './javaTool.ts'
import { endOf, loose, numbered, type Opened, openCluster, topicIdOf, write } from './kafkaCopy.ts'
import { kafkaClient } from './kafkajs.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const soon = () => AbortSignal.timeout(30_000)

describe('positions in a log', live, () => {
  let set: LiveRig<Record<never, never>>
  let east: Opened
  let byName: Opened
  const account = new MemoryAccount({ poison: true })
  before(async () => {
    set = await rigFor({})
    east = openCluster('east', set.east.bootstrap, account)
    byName = openCluster('east', set.east.bootstrap, account, { caps: new Map([[fetchApi.key, 12]]) })
  })
  after(async () => {
    await Promise.all([east.close(), byName.close()])
    await set.dispose()
  })

  const made = async (name: string, records: number): Promise<Part> => {
    const part = { topic: `${name}-${process.pid}`, partition: 0 }
    await east.admin.createTopic(part.topic, 1)
    for (let n = 0; n < records; n += 100) await write(east, part, [numbered(n, 100)])
    return part
  }
  const remove = async (part: Part): Promise<void> => {
    const { admin, close } = kafkaClient(set.east.bootstrap)
    await admin.connect()
    await admin.deleteTopics({ topics: [part.topic] })
    await close()
  }
  /** By another client: the first one's own look would tell its streams and lanes early. */
  const remake = async (part: Part, records: number): Promise<void> => {
    const other = openCluster('east', set.east.bootstrap, account)
    for (;;) {
      // To create what is just being deleted is success too.
      await other.admin.createTopic(part.topic, 1)
      const { topics } = await other.admin.look([part.topic])
      if (topics[0]?.code === 0) break
    }
    for (let n = 0; n < records; n += 100) await write(other, part, [numbered(n, 100)])
    await other.close()
  }
  const openAt = async (cluster: Opened, part: Part, at: Position): Promise<Stream> => {
    const topicId = await topicIdOf(east, part.topic)
    return cluster.source({ isolation: 'read_committed', rack: null }).open({ ...part, topicId }, at)
  }
  /** Reads up to `offset`; gives the last answer. */
  const readTo = async (stream: Stream, offset: bigint): Promise<bigint> => {
    let next = 0n
    while (next < offset) {
      const answer = await stream.next(soon())
      assert.equal(answer.is, 'batches')
      if (answer.is !== 'batches') break
      for (const batch of answer.batches) {
        next = nextOffset(batch.header)
        batch.release()
      }
    }
    return next
  }
  /** The next answer that says something: news of the log's end are none. */
  const said = async (stream: Stream): Promise<Answer> => {
    for (;;) {
      const answer = await stream.next(soon())
      if (answer.is !== 'batches' || answer.batches.length > 0) return answer
    }
  }

  for (const [how, cluster] of [
    ['by its id', () => east],
    ['by its name', () => byName],
  ] as const) {
    it(`KAFKA 20: a topic made anew, fetched ${how}, is told as another topic, and no record of it is given`, async () => {
      const part = await made(`k20-${how.replaceAll(' ', '-')}`, 500)
      const stream = await openAt(cluster(), part, { offset: 0n, epoch: -1 })
      assert.equal(await readTo(stream, 500n), 500n)
      const old = await topicIdOf(east, part.topic)
      await remove(part)
      // Made and filled beyond the old position, as far as possible before the stream has been told anything.
      await remake(part, 1_000)
      const answer = await said(stream)
      assert.equal(answer.is, 'recreated')
      assert.ok(answer.is === 'recreated' && answer.topicId !== old && answer.topicId !== '')
      stream.close()
      assert.equal(account.heldBytes, 0)
    })
  }

  it('KAFKA 20: a lane on a topic made anew is refused with 100, and nothing is written there', async () => {
    const part = await made('k20-lane', 100)
    const outcomes: unknown[] = []
    const told = Promise.withResolvers<void>()
    const lane = east.sink.open<number>(
      { ...part, topicId: '' },
      () => true,
      outcome => {
        outcomes.push(outcome.is === 'refused' ? outcome.code : outcome.is)
        if (outcomes.length === 2) told.resolve()
      },
    )
    lane.send(loose(numbered(100, 1)), 0)
    await lane.idle(soon())
    await remove(part)
    await remake(part, 0)
    lane.send(loose(numbered(101, 1)), 1)
    await told.promise
    assert.deepEqual(outcomes, ['acked', 100])
    lane.close(false)
    assert.equal(await endOf(east, part), 0n)
  })

  it('KAFKA 21: a position beyond the end diverges at the end, and without an epoch is out of range', async () => {
    const part = await made('k21', 300)
    for (const cluster of [east, byName]) {
      const ahead = await openAt(cluster, part, { offset: 5_000n, epoch: 0 })
      assert.deepEqual(await said(ahead), { is: 'diverged', offset: 300n, epoch: 0 })
      ahead.seek({ offset: 5_000n, epoch: -1 })
      const range = { is: 'out-of-range', logStart: 0n, lastStable: 300n, end: 300n }
      assert.deepEqual(await said(ahead), range)
      ahead.seek({ offset: 100n, epoch: -1 })
      const answer = await said(ahead)
      assert.ok(answer.is === 'batches' && answer.batches[0]?.header.baseOffset === 100n)
      for (const batch of answer.batches) batch.release()
      ahead.close()
    }
    assert.equal(account.heldBytes, 0)
  })

  const deleteRecords = async (part: Part, offset: number): Promise<void> => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'))
    const file = join(folder, 'offsets.json')
    await writeFile(file, JSON.stringify({ version: 1, partitions: [{ ...part, offset }] }))
    const args = ['--bootstrap-server', set.east.bootstrap, '--offset-json-file', file]
    await javaTool('org.apache.kafka.tools.DeleteRecordsCommand', args)
    await rm(folder, { recursive: true })
  }

  it('KAFKA 21: below a log start that DeleteRecords has moved the answer names the right log start', async () => {
    const part = await made('k21-start', 300)
    await deleteRecords(part, 150)
    const stream = await openAt(east, part, { offset: 20n, epoch: -1 })
    const range = { is: 'out-of-range', logStart: 150n, lastStable: 300n, end: 300n }
    assert.deepEqual(await said(stream), range)
    stream.close()
  })
})
