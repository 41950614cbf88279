import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { records } from '../../engine/batch/records.ts'
import { startSolo } from '../../engine/fleet/solo.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import type { FlowReport } from '../../engine/flow/report.ts'
import { kinds } from '../../engine/kinds.ts'
import { mirrorSpec } from '../../engine/mirror/spec.ts'
import type { Isolation, KafkaCluster, Part } from '../../engine/ports/kafka.ts'
import { audit, numberedBatch } from '../../rig/audit.ts'
import { offsetOf, readLog } from '../../rig/readLog.ts'
import { makeCompacted, send, writePlain } from '../../rig/samples.ts'
import { writeTransactions } from '../../rig/transactions.ts'
import { consumeAll } from './kafkajs.ts'
import { type Ended, type JsonLine, millrace } from './millrace.ts'
import { groupTool } from './mirrorPlaces.ts'
import { live } from './rigFor.ts'
import { type TwoClusters, withTwoClusters } from './twoClusters.ts'

const longestMs = 120_000
const timeMs = 1_700_000_000_000

describe('the mirror on real brokers', live, () => {
  let set: TwoClusters['set']
  let east: KafkaCluster
  let west: KafkaCluster
  withTwoClusters(longestMs, two => {
    ;({ set, east, west } = two)
  })

  const args = (topics: string, ...more: string[]) => {
    const { east, west } = set
    return ['mirror', '--from', east.bootstrap, '--to', west.bootstrap, '--topics', topics, ...more]
  }
  const both = async (topic: string, partitions: number) => {
    await Promise.all([east.admin.createTopic(topic, partitions), west.admin.createTopic(topic, partitions)])
  }
  const checkpointOf = async (flow: string, part: Part, signal: AbortSignal) => {
    const entries = await east.checkpoints.load(`millrace.${flow}`, [part], signal)
    return entries[0]?.offset ?? null
  }

  test('MIRROR 27: until the end into a pipe gives JSON lines and a summary, and a second run copies nothing', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const topic = 'm27.orders'
    await both(topic, 4)
    const how = { seed: 27, timeMs, batches: 30, recordsPerBatch: 100, codec: 'lz4' } as const
    await Promise.all([0, 1, 2, 3].map(partition => writePlain(east, { topic, partition }, how, signal)))

    const first = await millrace(args('m27\\..*', '--until-end'), signal).ended
    assert.equal(first.code, 0, first.stderr)
    assert.equal(first.stdout.includes('\u001b'), false)
    for (const line of first.stdout.split('\n')) JSON.parse(line)
    assert.deepEqual(summaryOf(first), { ok: true, reason: 'until-end', records: 12_000 })

    const second = await millrace(args('m27\\..*', '--until-end'), signal).ended
    assert.equal(second.code, 0, second.stderr)
    assert.deepEqual(summaryOf(second), { ok: true, reason: 'until-end', records: 0 })

    const bad = await millrace(args('m27(?=x)', '--until-end'), signal).ended
    assert.equal(bad.code, 2)
    assert.match(bad.stderr, /at position 4/)
    const none = await millrace(args('nothing', '--until-end'), signal).ended
    assert.equal(none.code, 4, none.stderr)
  })

  test('a topic that the destination has not is made until the end, and with --no-create named with what to do', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    await both('absent.here', 1)
    await east.admin.createTopic('absent.there', 2)
    await east.admin.createTopic('absent.in-part', 3)
    await west.admin.createTopic('absent.in-part', 1)
    const how = { seed: 1, timeMs, batches: 2, recordsPerBatch: 10, codec: 'none' } as const
    for (const topic of ['absent.here', 'absent.there']) await writePlain(east, { topic, partition: 0 }, how, signal)
    const run = (...more: string[]) =>
      millrace(args('absent\\..*', '--until-end', '--name', 'absent', ...more), signal).ended
    const ended = await run('--no-create')
    assert.equal(ended.code, 1)
    const events = ended.lines.filter(line => line.type === 'event')
    assert.deepEqual(
      events.map(({ code, topic, message, partitions }) => ({ code, topic, message, partitions })).toSorted(byTopic),
      [
        {
          code: 'destination-missing',
          topic: 'absent.in-part',
          message: 'the destination has no partition 1 of absent.in-part',
          partitions: 2,
        },
        {
          code: 'destination-missing',
          topic: 'absent.there',
          message: 'the destination has no topic absent.there',
          partitions: 2,
        },
      ],
    )
    for (const { hint } of events) assert.match(String(hint), /let the flow do it: destination\.create/)
    assert.deepEqual(summaryOf(ended), { ok: false, reason: 'until-end', records: 20 })

    const made = await run()
    assert.equal(made.code, 0, made.stderr)
    assert.deepEqual(summaryOf(made), { ok: true, reason: 'until-end', records: 20 })
    assert.equal(await offsetOf(west, { topic: 'absent.there', partition: 0 }, 'end'), 20n)
  })

  test('a checkpoint set by a tool of Kafka is where the next run begins, and one that it deleted stops its partition', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const topic = 'hand-set'
    await both(topic, 2)
    const how = { seed: 1, timeMs, batches: 10, recordsPerBatch: 10, codec: 'none' } as const
    for (const partition of [0, 1]) await writePlain(east, { topic, partition }, how, signal)
    const run = () => millrace(args(topic, '--until-end', '--name', topic), signal).ended
    const tool = (...more: string[]) => groupTool(set.east.bootstrap, topic, `${topic}:0`, ...more)
    assert.equal((await run()).code, 0)

    await tool('--reset-offsets', '--to-offset', '40', '--execute')
    const again = await run()
    assert.equal(again.code, 0, again.stderr)
    assert.deepEqual(summaryOf(again), { ok: true, reason: 'until-end', records: 60 })

    await tool('--delete-offsets')
    const lost = await run()
    assert.equal(lost.code, 1)
    assert.deepEqual(summaryOf(lost), { ok: false, reason: 'until-end', records: 0 })
    const [event] = lost.lines.filter(line => line.type === 'event')
    assert.deepEqual([event?.['code'], event?.['partitions'], event?.['state']], ['checkpoint-lost', 1, 'error'])
    assert.match(String(event?.['hint']), /--group millrace\.hand-set --topic hand-set:0 --reset-offsets/)
  })

  test('MIRROR 13: SIGTERM in the middle ends with 0, and the next owner goes on: nothing lost, nothing twice', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const topic = 'm13'
    const partitions = [0, 1, 2, 3]
    await both(topic, partitions.length)
    const batchesEach = 150
    let sent = 0
    const stopped = Promise.withResolvers<void>()
    const writing = Promise.all(
      partitions.map(async partition => {
        for (let n = 0; n < batchesEach; n++) {
          const batch = numberedBatch(n * 100, 100, { codec: 'lz4', valueBytes: 200, timestampMs: timeMs })
          await send(east, { topic, partition }, [batch], signal)
          sent++
          // The last third is written after the stop, whatever the first owner has copied by then.
          if (n === 100) await stopped.promise
        }
      }),
    )
    const first = millrace(args(topic, '--name', 'm13'), signal)
    await first.line(line => line.type === 'progress' && Number(line['records']) > 0)
    first.child.kill('SIGTERM')
    const one = await first.ended
    stopped.resolve()
    assert.equal(one.code, 0, one.stderr)
    const copied = summaryOf(one)
    assert.deepEqual({ ok: copied.ok, reason: copied.reason }, { ok: true, reason: 'signal' })
    assert.ok(copied.records > 0 && copied.records < 60_000)
    await writing
    assert.equal(sent, 600)

    const two = await millrace(args(topic, '--name', 'm13', '--until-end'), signal).ended
    assert.equal(two.code, 0, two.stderr)
    assert.equal(copied.records + summaryOf(two).records, 60_000)
    for (const found of await audit(west, topic, [15_000, 15_000, 15_000, 15_000], signal)) {
      const { records, lost, repeated, outOfOrder } = found
      assert.deepEqual(
        { records, lost, repeated, outOfOrder },
        { records: 15_000, lost: 0, repeated: 0, outOfOrder: 0 },
      )
    }
  })

  test('MIRROR 3: of interleaved transactions the committed ones arrive, in order, and the lag is 0', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const part = { topic: 'm3', partition: 0 }
    await both(part.topic, 1)
    const seed = { seed: 3, timeMs }
    await writeTransactions(set.east.bootstrap, part, {
      ...seed,
      committed: 10,
      aborted: 5,
      recordsPerTransaction: 100,
    })
    await writePlain(east, part, { ...seed, batches: 1, recordsPerBatch: 100, codec: 'none' }, signal)

    const ended = await millrace(args('m3', '--until-end', '--name', 'm3'), signal).ended
    assert.equal(ended.code, 0, ended.stderr)
    const topic = topicsOf(ended)[0]
    assert.equal(topic?.['records'], 1_100)
    assert.equal(topic?.['skippedRecords'], 500)
    assert.equal(topic?.['lagRecords'], 0)
    assert.equal(await checkpointOf('m3', part, signal), await offsetOf(east, part, 'end'))
    const expected = await consumeAll(set.east.bootstrap, part.topic, 1_100)
    assert.deepEqual(await consumeAll(set.west.bootstrap, part.topic, 1_100), expected)

    const all = await copyInProcess(part.topic, 'm3-uncommitted', 'read_uncommitted', signal)
    assert.equal(all.records, 1_600)
  })

  test('MIRROR 5: of a compacted topic the last value of every key arrives, and the lag is 0', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const part = { topic: 'm5', partition: 0 }
    await west.admin.createTopic(part.topic, 1)
    const how = { seed: 5, timeMs, keys: 1_000, rounds: 5, recordsPerBatch: 100 }
    const made = await makeCompacted(east, part.topic, how, machineClock(), signal)

    const ended = await millrace(args('m5', '--until-end', '--name', 'm5'), signal).ended
    assert.equal(ended.code, 0, ended.stderr)
    const topic = topicsOf(ended)[0]
    assert.equal(topic?.['records'], made.records)
    assert.equal(topic?.['lagRecords'], 0)
    assert.equal(ended.lines.filter(line => line.type === 'event').length, 0)
    assert.equal(await checkpointOf('m5', part, signal), await offsetOf(east, part, 'end'))
    const last = await lastValues(east, part, signal)
    assert.equal(last.size, 1_000)
    assert.deepEqual(await lastValues(west, part, signal), last)
  })

  async function copyInProcess(
    topic: string,
    name: string,
    isolation: Isolation,
    signal: AbortSignal,
  ): Promise<FlowReport> {
    const spec = mirrorSpec.parse({ from: 'east', to: 'west', topics: { include: [topic] }, isolation })
    const { mirror: kind } = kinds
    assert.ok(kind)
    const solo = startSolo(new Map([[name, { kind, spec, overlay: noOverlay }]]), {
      kafka: cluster => (cluster === 'east' ? east : west),
      untilEnd: true,
      clock: machineClock(),
      chance: Math.random,
      codec,
      crc: crc32c,
      stop: signal,
      abort: signal,
      tell: (_flow, event) => assert.fail(event.message),
      broke: (_flow, error) => assert.fail(error as Error),
    })
    await solo.done
    const [flow] = solo.flows()
    assert.ok(flow)
    return flow.report()
  }
})

async function lastValues(cluster: KafkaCluster, part: Part, signal: AbortSignal): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const batch of await readLog(cluster, part, signal)) {
    for (const { key, value } of records(batch, codec)) found.set(String(key), String(value))
  }
  return new Map([...found].sort())
}

function byTopic(a: { topic: unknown }, b: { topic: unknown }): number {
  return String(a.topic).localeCompare(String(b.topic))
}

function summaryOf(ended: Ended): { ok: unknown; reason: unknown; records: number } {
  const { ok, reason, type }: JsonLine = ended.lines.at(-1) ?? { type: 'nothing' }
  assert.equal(type, 'summary')
  return { ok, reason, records: topicsOf(ended).reduce((sum, topic) => sum + Number(topic['records']), 0) }
}

function topicsOf(ended: Ended): JsonLine[] {
  return (ended.lines.at(-1)?.['topics'] ?? []) as JsonLine[]
}
