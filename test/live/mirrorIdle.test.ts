import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { ownerCommitsMs } from '../../engine/limits.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { Part } from '../../engine/ports/kafka.ts'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { clock, numbered, type Opened, openCluster, write } from './kafkaCopy.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'
import { eventually } from './runFile.ts'
import { soloOf } from './soloOf.ts'

/** Of their own: a thousand partitions are a burden that other suites shall not carry. */
const wishes = () => ({ from: want(kafka, {}), to: want(kafka, {}) })
const idle = 1_000
/** The scenario counts a minute; what comes at all comes each second, or each time a long poll is over. */
const windowMs = 20_000
const paceMs = 100
const longestMs = 120_000

describe('idle partitions', live, () => {
  let set: LiveRig<ReturnType<typeof wishes>>
  let writer: Opened
  let reader: Opened
  before(async () => {
    set = await rigFor(wishes())
    writer = openCluster('from', set.parts.from.address.bootstrap, new MemoryAccount())
    reader = openCluster('to', set.parts.to.address.bootstrap, new MemoryAccount())
  })
  after(async () => {
    await Promise.all([writer?.close(), reader?.close()])
    await set?.dispose()
  })

  /** A mirror of these topics on clusters of its own. Its clock can be put ahead; that of the links cannot. */
  const running = (flow: string, names: string[]) => {
    const account = new MemoryAccount()
    const east = openCluster('from', set.parts.from.address.bootstrap, account)
    const west = openCluster('to', set.parts.to.address.bootstrap, account)
    let aheadMs = 0
    const ahead: Clock = { ...clock, nowMs: () => clock.nowMs() + aheadMs }
    const commits = new Map<string, number>()
    const { checkpoints } = east
    const save = checkpoints.save.bind(checkpoints)
    checkpoints.save = (group, entries, ...more) => {
      for (const { topic } of entries) commits.set(topic, (commits.get(topic) ?? 0) + 1)
      return save(group, entries, ...more)
    }
    const stop = new AbortController()
    const solo = soloOf(flow, { topics: { names } }, { east, west, stop: stop.signal, clock: ahead })
    return {
      commits,
      counts: () => ({ fetches: east.counts().fetchRequests, produces: west.counts().produceRequests }),
      skip: (ms: number) => {
        aheadMs += ms
      },
      async end() {
        stop.abort()
        await solo.done
        await Promise.all([east.close(), west.close()])
      },
    }
  }

  test('MIRROR 24: a thousand idle partitions cost no produce, no commit and no fetch of their own', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const [one, busy, still] = ['m24-alone', 'm24-busy', 'm24-idle']
    const parts: Part[] = [one, busy].map(topic => ({ topic, partition: 0 }))
    for (const cluster of [writer, reader]) {
      for (const topic of [one, busy]) await cluster.admin.createTopic(topic, 1)
      await cluster.admin.createTopic(still, idle)
    }
    const alone = running(one, [one])
    const among = running(busy, [busy, still])
    t.after(() => Promise.all([alone.end(), among.end()]))
    let batches = 0
    const writeBoth = async () => {
      await Promise.all(parts.map(part => write(writer, part, [numbered(batches, 1)])))
      batches++
    }
    const moved = async () =>
      (await reader.admin.offsets(parts, 'end')).every(({ offset }) => offset === BigInt(batches))
    await writeBoth()
    await eventually(async () => ((await moved()) ? true : null), signal)
    // A new owner stores the checkpoints of all, again and again, for a minute.
    await eventually(async () => ((among.commits.get(still) ?? 0) >= 2 * idle ? true : null), signal)
    for (const mirror of [alone, among]) mirror.skip(ownerCommitsMs)
    await delay(2_000)
    for (const mirror of [alone, among]) mirror.commits.clear()
    const begun = { alone: alone.counts(), among: among.counts(), batches }

    for (const endMs = clock.nowMs() + windowMs; clock.nowMs() < endMs; ) {
      await writeBoth()
      await delay(paceMs)
    }
    await eventually(async () => ((await moved()) ? true : null), signal)
    const fetches = among.counts().fetches - begun.among.fetches
    const usual = alone.counts().fetches - begun.alone.fetches
    t.diagnostic(`${fetches} fetches, ${usual} of the active one alone, ${batches - begun.batches} batches`)
    assert.ok(fetches <= 1.02 * usual, `${fetches} fetches, alone ${usual}`)
    assert.ok(among.counts().produces - begun.among.produces <= batches - begun.batches)
    assert.deepEqual([...among.commits.keys()], [busy])
    const idleParts = Array.from({ length: idle }, (_, partition) => ({ topic: still, partition }))
    for (const { offset } of await reader.admin.offsets(idleParts, 'end')) assert.equal(offset, 0n)
  })
})
