import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import type { Provenance } from '../../engine/mirror/decide/provenance.ts'
import {
  type ProvenanceRead,
  provenanceOf,
  provenanceTopicConfigs,
  provenanceTopicName,
  readProvenance,
  writeProvenance,
} from '../../engine/mirror/provenanceTopic.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const flow = `provenance-${process.pid}`
const topic = provenanceTopicName(flow)
const clock = machineClock()
const soon = () => AbortSignal.timeout(60_000)

function record(name: string, more: Partial<Provenance> = {}): Provenance {
  const ids = { sourceId: 'MkU3OEVBNTcwNTJENDM2Qg', from: 'east', via: ['north', 'east'] }
  return {
    flow,
    topic: name,
    src: name,
    ...ids,
    parts: 12,
    set: ['retention.ms'],
    claims: false,
    endedMs: null,
    ...more,
  }
}

describe('provenance on a real cluster', live, () => {
  let set: LiveRig<Record<string, never>>
  let west: KafkaCluster
  before(async () => {
    set = await rigFor({})
    west = openPlain('west', set.west.bootstrap)
    await west.admin.createTopic(topic, 1, { configs: { ...provenanceTopicConfigs } })
  })
  after(async () => {
    await west?.close()
    await set?.dispose()
  })

  const write = async (records: Provenance[]) => {
    const topicId = (await west.admin.look([topic])).topics[0]?.topicId ?? ''
    const how = { topicId, mayWrite: () => true, codec, crc: crc32c, clock, signal: soon() }
    await writeProvenance(west, flow, records, how)
  }
  const read = async (last: ProvenanceRead | null, of: KafkaCluster = west) =>
    readProvenance(of, await west.admin.look('all'), [topic], last, { codec, clock, signal: soon() })

  it('is kept in a topic that is compacted', async () => {
    const configs = (await west.admin.topicConfigs([topic])).get(topic) ?? []
    const found = configs.filter(({ name }) => name in provenanceTopicConfigs).map(({ name, value }) => [name, value])
    assert.deepEqual(Object.fromEntries(found), provenanceTopicConfigs)
  })

  it('is read back as it was written, goes on from there, and fetches nothing when nothing is new', async () => {
    const many = Array.from({ length: 2_000 }, (_, i) => record(`topic-${i}`))
    await write(many)
    const first = await read(null)
    assert.deepEqual([...first.records.values()], many)

    const unread = { ...west, source: () => ({ open: () => assert.fail('there is nothing to read') }) }
    assert.deepEqual(await read(first, unread), first)

    await write([record('topic-7', { endedMs: clock.wallMs() }), record('late', { parts: 0, set: [] })])
    const second = await read(first)
    assert.equal(second.records.size, 2_001)
    assert.notEqual(provenanceOf(second, flow, 'topic-7')?.endedMs, null)
    assert.deepEqual(provenanceOf(second, flow, 'late'), record('late', { parts: 0, set: [] }))
    assert.deepEqual(new Map(second.records), new Map((await read(null)).records))
  })

  it('of all flows at once is that of every topic of its kind', async () => {
    const how = { codec, clock, signal: soon() }
    const whole = await readProvenance(west, await west.admin.look('all'), 'all', null, how)
    assert.ok(whole.positions.has(topic))
    assert.ok([...whole.positions.keys()].every(name => name.startsWith('millrace.mirror.')))
  })
})
