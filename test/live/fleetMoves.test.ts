import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { kafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { auditOf, longestGap, watchArrivals } from './fleet/arrivals.ts'
import { startLoad } from './fleet/load.ts'
import { type RunningFleet, runFleet } from './fleet/runningFleet.ts'
import { mirrorFlow } from './flowsFile.ts'
import { live } from './rigFor.ts'

const longestMs = 180_000
const wishes = () => ({ east: want(kafka, {}), west: want(kafka, {}), zk: want(zookeeper, {}) })

describe('a fleet that workers join and leave', live, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  let east: KafkaCluster
  let west: KafkaCluster
  let alive: NodeJS.Timeout
  before(async () => {
    alive = setInterval(() => {}, longestMs)
    set = await rig(wishes())
    east = openPlain('east', set.parts.east.address.bootstrap)
    west = openPlain('west', set.parts.west.address.bootstrap)
  })
  after(async () => {
    clearInterval(alive)
    await Promise.all([east.close(), west.close()])
    await set.dispose()
  })

  const soon = (t: TestContext) => AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
  const fleetOf = (t: TestContext, topics: string[], more: { workers: number; controllers?: number }) =>
    runFleet(
      t,
      {
        east: set.parts.east.address.bootstrap,
        west: set.parts.west.address.bootstrap,
        zookeeper: set.parts.zk.chroot('fleet'),
        flows: { clicks: mirrorFlow(topics) },
        ...more,
      },
      soon(t),
    )

  /** 3 workers, 60 partitions, 3 000 numbered records a second (R-load), and what has arrived. */
  async function underLoad(t: TestContext, topic: string, workers = 3) {
    const signal = soon(t)
    const partitions = 60
    await east.admin.createTopic(topic, partitions)
    const fleet = await fleetOf(t, [topic], { workers })
    await fleet.settled({ units: partitions, workers })
    const load = startLoad(east, { topic, partitions, perSecond: 3_000 }, signal)
    const arrivals = await watchArrivals(west, topic, { partitions, numbersMax: 20_000 }, signal)
    await arrivals.reached(Array.from({ length: partitions }, () => 20))
    return {
      fleet,
      arrivals,
      /** Ends the load, waits for its last record, and gives the audit of the span. */
      async audited(fromMs: number) {
        const toMs = performance.now()
        const written = await load.stop()
        await arrivals.reached(written)
        await arrivals.stop()
        return { ...auditOf(arrivals.parts, written, { fromMs, toMs }), written }
      },
    }
  }

  const unitsOf = async (fleet: RunningFleet, id: string) =>
    (await fleet.api.workers()).find(worker => worker.id === id)?.held ?? 0

  test('COORDINATION 11: after the kill of one worker its partitions go on elsewhere, and the others never paused', async t => {
    const { fleet, arrivals, audited } = await underLoad(t, 'killed')
    const [victim] = fleet.workers
    assert.ok(victim)
    assert.equal(await unitsOf(fleet, victim.id), 20)
    const killedMs = performance.now()
    await victim.kill()
    await fleet.settled({ units: 60, workers: 2 }, 30_000)
    await Promise.all(
      arrivals.parts.map((_, p) =>
        arrivals.reached(arrivals.parts.map((part, q) => (q === p ? part.records - part.repeated + 50 : 0))),
      ),
    )
    const found = await audited(killedMs)
    const gaps = arrivals.parts.map(part => longestGap(part.atMs, { fromMs: killedMs, toMs: performance.now() }))
    t.diagnostic(`longest gap ${Math.round(Math.max(...gaps))} ms, ${found.repeated} repeated of ${found.records}`)
    assert.equal(found.lost, 0)
    assert.equal(found.outOfOrder, 0)
    await fleet.stop()
  })

  test('COORDINATION 12: a worker that is told to stop hands over: nothing is lost and nothing comes twice', async t => {
    const { fleet, audited } = await underLoad(t, 'stopped')
    const [leaving] = fleet.workers
    assert.ok(leaving)
    const stoppedMs = performance.now()
    assert.deepEqual(await leaving.stop(), { code: 0, signal: null })
    const tookMs = performance.now() - stoppedMs
    await fleet.settled({ units: 60, workers: 2 }, 30_000)
    const found = await audited(stoppedMs)
    t.diagnostic(`exit after ${Math.round(tookMs)} ms, longest gap ${Math.round(found.longestGapMs)} ms`)
    assert.deepEqual([found.lost, found.repeated, found.outOfOrder], [0, 0, 0])
    await fleet.stop()
  })
})
