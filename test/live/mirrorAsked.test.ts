import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { type OffsetsRequest, setOffsets } from '../../engine/fleet/setOffsets.ts'
import type { OffsetRow } from '../../engine/flow/contract.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { noOverlay, type Overlay } from '../../engine/flow/overlay.ts'
import { kinds } from '../../engine/kinds.ts'
import type { KafkaCluster, Part } from '../../engine/ports/kafka.ts'
import { kafkaClient } from './kafkajs.ts'
import { checkpointsOf, groupTool, partitionsAt, untilEnd, write } from './mirrorPlaces.ts'
import { live } from './rigFor.ts'
import { eventually, type FlowWords } from './runFile.ts'
import { plansOf, soloOf } from './soloOf.ts'
import { type TwoClusters, withTwoClusters } from './twoClusters.ts'

const longestMs = 120_000
const allPaused: Overlay = { ...noOverlay, paused: '*' }

describe('what people ask of a mirror, on real brokers', live, () => {
  let set: TwoClusters['set']
  let east: KafkaCluster
  let west: KafkaCluster
  withTwoClusters(longestMs, two => {
    ;({ set, east, west } = two)
  })
  const ends = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(longestMs)])

  const untilStored = (flow: string, { topic, partition }: Part, offset: number, signal: AbortSignal) =>
    eventually(async () => {
      const found = await checkpointsOf(east, flow, signal)
      return found.get(`${topic}/${partition}`) === offset ? true : null
    }, signal)

  /** A flow in this process, and what may be asked of it. */
  function asked(flow: string, words: FlowWords, signal: AbortSignal) {
    const stop = new AbortController()
    const events: FlowEvent[] = []
    const tell = (event: FlowEvent) => void events.push(event)
    const solo = soloOf(flow, words, { east, west, stop: AbortSignal.any([signal, stop.signal]), tell })
    const change = (overlay: Overlay) => assert.deepEqual(solo.apply(plansOf(flow, words, overlay)), [])
    const it = () => {
      const [one] = solo.flows()
      assert.ok(one)
      return one
    }
    return {
      events,
      change,
      async paused() {
        change(allPaused)
        await eventually(async () => (it().running().size === 0 ? true : null), signal)
      },
      resume: () => change(noOverlay),
      /** `before after`, or before and why not, by partition. */
      async set(to: OffsetsRequest['to'], dryRun = false) {
        const changes = await setOffsets(it(), { parts: '*', to, dryRun }, signal)
        return changes.map(({ before, after, fault }) => `${before} ${fault?.code ?? after}`)
      },
      async rows(): Promise<OffsetRow[]> {
        const { spec } = it().state()
        const ctx = { flow, kafka: (name: string) => (name === 'east' ? east : west), clock: machineClock(), signal }
        return (await kinds['mirror']?.offsets?.(spec, noOverlay, ctx)) ?? []
      },
      said: (code: string) => eventually(async () => events.find(event => event.code === code) ?? null, signal),
      runs: () => [...it().running()].sort().join(' '),
      async end() {
        stop.abort()
        await solo.done
      },
    }
  }

  test('offsets are set to the earliest, the latest, a time and a number, and the copy goes on from there', async t => {
    const signal = ends(t.signal)
    const part = { topic: 'asked.forms', partition: 0 }
    await east.admin.createTopic(part.topic, 1)
    await write(east, part, [0, 100], signal)
    const timeMs = Date.now() + 1
    await eventually(async () => (Date.now() > timeMs ? true : null), signal)
    await write(east, part, [100, 150], signal)
    const flow = asked('asked-forms', { topics: { names: [part.topic] } }, signal)
    const stored = (offset: number) => untilStored('asked-forms', part, offset, signal)
    await untilEnd(west, part, 150, signal)
    await stored(150)
    await flow.paused()
    assert.deepEqual(await flow.set('earliest', true), ['150 0'])
    assert.deepEqual(await flow.set({ timeMs }, true), ['150 100'])
    assert.deepEqual(await flow.set({ timeMs: Date.now() + 60_000 }, true), ['150 150'])
    assert.deepEqual(await flow.set({ offset: 151n }), ['150 request-invalid'])
    await stored(150)
    let end = 150
    for (const [to, after] of [
      [{ offset: 120n }, 120],
      [{ timeMs }, 100],
      ['earliest', 0],
    ] as const) {
      assert.deepEqual(await flow.set(to), [`150 ${after}`])
      await stored(after)
      flow.resume()
      end += 150 - after
      await untilEnd(west, part, end, signal)
      await stored(150)
      await flow.paused()
    }
    await write(east, part, [150, 160], signal)
    const [row] = await flow.rows()
    assert.deepEqual(row, { ...part, checkpoint: 150n, logStart: 0n, lastStable: 160n, highWatermark: 160n })
    assert.deepEqual(await flow.set('latest'), ['150 160'])
    flow.resume()
    await write(east, part, [160, 165], signal)
    await untilEnd(west, part, end + 5, signal)
    assert.deepEqual(flow.events, [])
    await flow.end()
  })

  test('MIRROR 18: what lost its checkpoint goes on where it is put, and only what is new is copied', async t => {
    const signal = ends(t.signal)
    const topic = 'asked.lost'
    const parts = [0, 1].map(partition => ({ topic, partition }))
    await east.admin.createTopic(topic, 2)
    for (const part of parts) await write(east, part, [0, 50], signal)
    const words = { topics: { names: [topic] } }
    const first = asked('asked-lost', words, signal)
    for (const part of parts) await untilStored('asked-lost', part, 50, signal)
    await first.end()
    await groupTool(set.east.bootstrap, 'asked-lost', topic, '--delete-offsets')
    for (const part of parts) await write(east, part, [50, 60], signal)

    const flow = asked('asked-lost', words, signal)
    assert.equal((await flow.said('checkpoint-lost')).partitions, 2)
    await flow.paused()
    assert.deepEqual(await flow.set('latest'), ['null 60', 'null 60'])
    flow.resume()
    for (const part of parts) await write(east, part, [60, 80], signal)
    for (const part of parts) await untilEnd(west, part, 70, signal)
    await flow.end()
  })

  test('MIRROR 16: a destination made anew gets all again when it is put to the earliest, and what is new behind it', async t => {
    const signal = ends(t.signal)
    const part = { topic: 'asked.west', partition: 0 }
    await east.admin.createTopic(part.topic, 1)
    await write(east, part, [0, 100], signal)
    const flow = asked('asked-west', { topics: { names: [part.topic] } }, signal)
    await untilEnd(west, part, 100, signal)
    await untilStored('asked-west', part, 100, signal)
    const { admin, close } = kafkaClient(set.west.bootstrap)
    await admin.deleteTopics({ topics: [part.topic] })
    await close()
    await eventually(async () => ((await partitionsAt(west, part.topic)) === 0 ? true : null), signal)
    await west.admin.createTopic(part.topic, 1)
    await write(east, part, [100, 110], signal)
    await flow.said('destination-recreated')
    await flow.paused()
    assert.deepEqual(await flow.set('earliest'), ['100 0'])
    flow.resume()
    await untilEnd(west, part, 110, signal)
    await write(east, part, [110, 120], signal)
    await untilEnd(west, part, 120, signal)
    await flow.end()
  })

  test('a destination topic that was deleted is made and filled anew when its offsets are put to the earliest', async t => {
    const signal = ends(t.signal)
    const part = { topic: 'asked.gone', partition: 0 }
    await east.admin.createTopic(part.topic, 1)
    await write(east, part, [0, 100], signal)
    const words = { topics: { names: [part.topic] } }
    const first = asked('asked-gone', words, signal)
    await untilEnd(west, part, 100, signal)
    await untilStored('asked-gone', part, 100, signal)
    await first.end()
    const { admin, close } = kafkaClient(set.west.bootstrap)
    await admin.deleteTopics({ topics: [part.topic] })
    await close()
    await eventually(async () => ((await partitionsAt(west, part.topic)) === 0 ? true : null), signal)
    const flow = asked('asked-gone', words, signal)
    await flow.said('destination-missing')
    assert.equal(await partitionsAt(west, part.topic), 0)
    await flow.paused()
    assert.deepEqual(await flow.set('earliest'), ['100 0'])
    flow.resume()
    await eventually(async () => ((await partitionsAt(west, part.topic)) === 1 ? true : null), signal)
    await untilEnd(west, part, 100, signal)
    await flow.end()
  })

  test('MIRROR 9: topics are put in and out while others are copied, which notice nothing of it', async t => {
    const signal = ends(t.signal)
    const [kept, late] = ['asked.kept', 'asked-late'].map(topic => ({ topic, partition: 0 }))
    assert.ok(kept && late)
    await east.admin.createTopic(kept.topic, 1)
    await east.admin.createTopic(late.topic, 1)
    await write(east, late, [0, 20], signal)
    const words = { topics: { include: ['asked\\.kept'], refreshMs: 60_000 } }
    const flow = asked('asked-topics', words, signal)
    await write(east, kept, [0, 10], signal)
    await untilEnd(west, kept, 10, signal)
    const put = (to: 'in' | 'out') => flow.change({ ...noOverlay, topics: new Map([[late.topic, to]]) })
    put('in')
    await untilEnd(west, late, 20, signal)
    assert.equal(flow.runs(), 'asked-late/0 asked.kept/0')
    put('out')
    await eventually(async () => (flow.runs() === 'asked.kept/0' ? true : null), signal)
    await write(east, late, [20, 30], signal)
    await write(east, kept, [10, 20], signal)
    await untilEnd(west, kept, 20, signal)
    await untilEnd(west, late, 20, signal)
    put('in')
    await untilEnd(west, late, 30, signal)
    await flow.end()
  })
})
