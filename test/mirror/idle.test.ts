import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownerCommitsMs } from '../../engine/limits.ts'
import { batchOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

const active = { topic: 't', partition: 0 }
const stepMs = 500

/** What a minute costs with one active partition among so many, when the first minute of their owner is over. */
async function minuteOf(partitions: number) {
  const mirror = mirrorOf({ brokers: 1 })
  const { clock, east, west } = mirror
  for (const cluster of [east, west]) cluster.topic('t', partitions)
  const commits = new Map<number, number>()
  const { checkpoints } = east
  const save = checkpoints.save.bind(checkpoints)
  checkpoints.save = (group, entries, ...more) => {
    for (const { partition } of entries) commits.set(partition, (commits.get(partition) ?? 0) + 1)
    return save(group, entries, ...more)
  }
  await mirror.start()
  await clock.advance(ownerCommitsMs)
  assert.equal(commits.size, partitions)
  commits.clear()
  const before = { ...west.counts(), fetches: east.counts().fetches }
  const begun = west.log(active).batches.length
  for (let ms = 0; ms < 60_000; ms += stepMs) {
    east.write(active, batchOf(['a']))
    await clock.advance(stepMs)
  }
  const produces = west.counts().produces - before.produces
  const fetches = east.counts().fetches - before.fetches
  const batches = west.log(active).batches.length - begun
  await mirror.stop()
  return { fetches, produces, batches, commits }
}

test('MIRROR 24: a thousand idle partitions cost no produce, no commit and no fetch of their own', async () => {
  const alone = await minuteOf(1)
  const among = await minuteOf(1_001)
  assert.deepEqual([...among.commits.keys()], [active.partition])
  assert.ok(among.batches > 100)
  assert.equal(among.produces, among.batches)
  assert.ok(among.fetches <= 1.02 * alone.fetches, `${among.fetches} fetches, alone ${alone.fetches}`)
})
