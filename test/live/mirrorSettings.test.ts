import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { settingsOf, untilEnd, write } from './mirrorPlaces.ts'
import { live } from './rigFor.ts'
import { eventually, runFlow, stopped } from './runFile.ts'
import { soloOf } from './soloOf.ts'
import { type TwoClusters, withTwoClusters } from './twoClusters.ts'

const longestMs = 120_000
const rounds = 20

describe('the settings of mirrored topics on real brokers', live, () => {
  let set: TwoClusters['set']
  let east: KafkaCluster
  let west: KafkaCluster
  withTwoClusters(longestMs, two => {
    ;({ set, east, west } = two)
  })

  test('MIRROR 22: what the source sets is set, what the destination sets stays, and what is as it should be is not sent again', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const part = { topic: 'm22', partition: 0 }
    const words = { topics: { names: [part.topic] } }
    const both = { east: set.east, west: set.west, signal }
    await east.admin.createTopic(part.topic, 1, {
      configs: { 'retention.ms': '7200000', 'min.insync.replicas': '1' },
    })
    await west.admin.createTopic(part.topic, 1, { configs: { 'segment.bytes': '33554432' } })
    const first = await runFlow('m22', words, both)
    const synced = { 'retention.ms': '7200000', 'segment.bytes': '33554432' }
    await eventually(async () => ('retention.ms' in (await settingsOf(west, part.topic)) ? true : null), signal)
    assert.deepEqual(await settingsOf(west, part.topic), synced)
    assert.equal(await stopped(first), 0)

    // A new leader knows what was set by its provenance alone.
    const counted = { looks: 0, alters: 0 }
    const over = new AbortController()
    const { admin } = west
    const counting: KafkaCluster['admin'] = {
      offsets: (...args) => admin.offsets(...args),
      createTopic: (...args) => admin.createTopic(...args),
      growTopic: (...args) => admin.growTopic(...args),
      topicConfigs: (...args) => admin.topicConfigs(...args),
      async look(topics) {
        if (topics === 'all' && ++counted.looks > rounds) over.abort()
        return await admin.look(topics)
      },
      async alterTopicConfigs(changes) {
        counted.alters++
        return await admin.alterTopicConfigs(changes)
      },
    }
    const stop = AbortSignal.any([signal, over.signal])
    await soloOf('m22', words, { east, west: { ...west, admin: counting }, stop }).done
    assert.deepEqual(counted, { looks: rounds + 1, alters: 0 })
    assert.deepEqual(await settingsOf(west, part.topic), synced)

    await east.admin.alterTopicConfigs([{ topic: part.topic, set: {}, unset: ['retention.ms'] }])
    const second = await runFlow('m22', words, both)
    await eventually(async () => ('retention.ms' in (await settingsOf(west, part.topic)) ? null : true), signal)
    assert.deepEqual(await settingsOf(west, part.topic), { 'segment.bytes': '33554432' })
    await write(east, part, [0, 10], signal)
    await untilEnd(west, part, 10, signal)
    assert.equal(await stopped(second), 0)
  })
})
