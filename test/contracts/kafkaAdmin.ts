import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterAdmin, ConfigChange, Outcome, Part, TopicConfig, TopicId } from '../../engine/ports/kafka.ts'
import { batchOf, loose } from '../fakes/kafka/batches.ts'
import type { ContractCluster } from './kafka.ts'

const never = new AbortController().signal
let topics = 0
const newName = () => `admin-${process.pid}-${Date.now() % 1e6}-${topics++}`

/** What admin promises (KAFKA-CLIENT W-77), and lanes of a topic that was made anew (W-45). */
export function adminContract(of: () => ContractCluster): void {
  viewContract(of)
  topicContract(of)
  configContract(of)
  remadeContract(of)
}

function viewContract(of: () => ContractCluster): void {
  test('admin sees topics, ids, leaders and offsets', async () => {
    const { admin } = of().kafka
    const part = { topic: newName(), partition: 0 }
    await of().topic(part.topic, 2)
    const { lane } = laneTo(of(), part, '')
    write(lane, ['a', 'b'])
    await lane.idle(never)
    const view = await admin.look([part.topic, 'nobody-made-this'])
    assert.ok(view.clusterId.length > 0)
    const [mine, missing] = [part.topic, 'nobody-made-this'].map(name => view.topics.find(t => t.topic === name))
    assert.deepEqual([mine?.code, mine?.partitions.length, missing?.code], [0, 2, 3])
    assert.ok(view.brokers.some(broker => broker.id === mine?.partitions[0]?.leader))
    const parts = [0, 1].map(partition => ({ topic: part.topic, partition }))
    for (const [at, offset] of [
      ['start', 0n],
      ['end', 2n],
      ['stable', 2n],
    ] as const) {
      const found = await admin.offsets(parts, at)
      assert.deepEqual(
        found.map(f => f.offset),
        [offset, 0n],
        at,
      )
    }
    assert.deepEqual((await admin.offsets([part], { timeMs: 4_000_000_000_000 }))[0]?.offset, null)
    lane.close(false)
  })
}

function topicContract(of: () => ContractCluster): void {
  test('a topic is made with its configs and has leaders then; to make it again is success, and changes nothing', async () => {
    const { admin } = of().kafka
    const topic = newName()
    await admin.createTopic(topic, 3, {
      replicas: 1,
      configs: { 'cleanup.policy': 'compact', 'segment.bytes': '2000000' },
    })
    const made = await topicOf(admin, topic)
    assert.deepEqual([made.code, ledOf(made)], [0, 3])
    assert.deepEqual(await setOn(admin, topic), ['cleanup.policy=compact', 'segment.bytes=2000000'])
    await admin.createTopic(topic, 5, { configs: { 'cleanup.policy': 'delete' } })
    assert.deepEqual(await topicOf(admin, topic), made)
    assert.deepEqual(await setOn(admin, topic), ['cleanup.policy=compact', 'segment.bytes=2000000'])
  })

  test('a topic that the cluster refuses is config-invalid under its own number, and not tried again', async () => {
    const { admin } = of().kafka
    const refused = { code: 'config-invalid', retryable: false }
    await assert.rejects(admin.createTopic(newName(), 1, { replicas: 7 }), {
      ...refused,
      kafka: 38,
      message: /7 replicas/,
    })
    await assert.rejects(admin.createTopic('no such/name', 1), { ...refused, kafka: 17, message: /no such\/name/ })
    const configs = { 'no.such.setting': '1' }
    await assert.rejects(admin.createTopic(newName(), 1, { configs }), {
      ...refused,
      kafka: 40,
      message: /no\.such\.setting=1/,
    })
  })

  test('a topic grows, with leaders for what is new; to grow to as many or fewer is success, and none goes', async () => {
    const { admin } = of().kafka
    const topic = newName()
    await of().topic(topic, 2)
    await admin.growTopic(topic, 5)
    assert.equal(ledOf(await topicOf(admin, topic)), 5)
    await admin.growTopic(topic, 5)
    await admin.growTopic(topic, 3)
    assert.equal(ledOf(await topicOf(admin, topic)), 5)
    await assert.rejects(admin.growTopic('nobody-made-this', 5), { code: 'not-found', kafka: 3, retryable: false })
  })
}

function configContract(of: () => ContractCluster): void {
  test('configs tell what is set on the topic from what it inherits, and a topic that is not there is left out', async () => {
    const { admin } = of().kafka
    const names = [newName(), newName(), newName()]
    for (const name of names) await admin.createTopic(name, 1, { configs: { 'retention.ms': '1000000' } })
    const asked = ['nobody-made-this', ...names, 'nor-this']
    const found = await admin.topicConfigs(asked)
    assert.deepEqual([...found.keys()].toSorted(), names.toSorted())
    for (const name of names) {
      const configs = new Map(found.get(name)?.map(config => [config.name, config]))
      const set: TopicConfig = { name: 'retention.ms', value: '1000000', isDefault: false, onTopic: true }
      assert.deepEqual(configs.get('retention.ms'), set)
      assert.equal(configs.get('max.message.bytes')?.onTopic, false)
      assert.equal(configs.get('max.message.bytes')?.value, '1048588')
    }
    assert.deepEqual(await admin.topicConfigs([]), new Map())
  })

  test('settings are set and unset, and those that are not named stay', async () => {
    const { admin } = of().kafka
    const [one, two] = [newName(), newName()]
    const configs = { 'retention.ms': '1000000', 'segment.bytes': '2000000' }
    await admin.createTopic(one, 1, { configs })
    await admin.createTopic(two, 1)
    const changes: ConfigChange[] = [
      { topic: one, set: { 'retention.ms': '3000000' }, unset: ['segment.bytes'] },
      { topic: two, set: { 'cleanup.policy': 'compact' }, unset: ['retention.ms'] },
    ]
    assert.deepEqual(await admin.alterTopicConfigs(changes), [])
    // A broker tells its new settings a moment after it has taken them.
    await settled(of(), async () => (await setOn(admin, one)).join() === 'retention.ms=3000000')
    await settled(of(), async () => (await setOn(admin, two)).join() === 'cleanup.policy=compact')
    assert.deepEqual(await admin.alterTopicConfigs(changes), [])
    assert.deepEqual(await setOn(admin, one), ['retention.ms=3000000'])
    assert.deepEqual(await admin.alterTopicConfigs([]), [])
  })

  test('a topic whose settings are refused is named with the reason, and the others are set', async () => {
    const { admin } = of().kafka
    const [good, bad] = [newName(), newName()]
    for (const topic of [good, bad]) await admin.createTopic(topic, 1)
    const refused = await admin.alterTopicConfigs([
      { topic: 'nobody-made-this', set: { 'retention.ms': '1' }, unset: [] },
      { topic: good, set: { 'retention.ms': '4000000' }, unset: [] },
      { topic: bad, set: { 'retention.ms': '4000000', 'no.such.setting': '1' }, unset: [] },
    ])
    assert.deepEqual(
      refused.map(({ topic, fault }) => [topic, fault.code]),
      [
        ['nobody-made-this', 'not-found'],
        [bad, 'config-invalid'],
      ],
    )
    assert.match(refused[1]?.fault.message ?? '', /Unknown topic config name: no\.such\.setting/)
    await settled(of(), async () => (await setOn(admin, good)).join() === 'retention.ms=4000000')
    assert.deepEqual(await setOn(admin, bad), [])
  })
}

function remadeContract(of: () => ContractCluster): void {
  test('KAFKA 10: a lane whose topic is made anew under it is refused with 100, and nothing is written there', async () => {
    const { admin } = of().kafka
    const part = { topic: newName(), partition: 0 }
    await of().topic(part.topic, 1)
    const { topicId } = await topicOf(admin, part.topic)
    const { lane, outcomes } = laneTo(of(), part, topicId)
    write(lane, ['a'])
    await lane.idle(never)
    await of().remake(part.topic)
    await topicOf(admin, part.topic)
    write(lane, ['b'])
    write(lane, ['c'])
    await of().until(() => outcomes.length === 2)
    lane.instead([])
    await of().until(() => outcomes.length === 3)
    assert.deepEqual(outcomes, ['acked', 100, 100])
    assert.equal((await admin.offsets([part], 'end'))[0]?.offset, 0n)
    lane.close(false)
  })

  test('KAFKA 10: of two lanes of one partition only that for the topic which is there writes', async () => {
    const { admin } = of().kafka
    const part = { topic: newName(), partition: 0 }
    await of().topic(part.topic, 1)
    const before = (await topicOf(admin, part.topic)).topicId
    await of().remake(part.topic)
    const { topicId } = await topicOf(admin, part.topic)
    assert.notEqual(topicId, before)
    const [late, right, any] = [before, topicId, ''].map(id => laneTo(of(), part, id))
    assert.ok(late && right && any)
    write(right.lane, ['a'])
    write(late.lane, ['wrong'])
    write(any.lane, ['b'])
    await of().until(() => late.outcomes.length === 1)
    assert.deepEqual([late.outcomes, right.outcomes], [[100], ['acked']])
    late.lane.close(false)
    await any.lane.idle(never)
    assert.deepEqual([late.outcomes, right.outcomes, any.outcomes], [[100], ['acked'], ['acked']])
    assert.equal((await admin.offsets([part], 'end'))[0]?.offset, 2n)
    right.lane.close(false)
    any.lane.close(false)
  })
}

/** A lane that notes what came: the number of a refusal, else the word. */
function laneTo(cluster: ContractCluster, part: Part, topicId: TopicId) {
  const outcomes: (number | string)[] = []
  const note = (outcome: Outcome<null>) => void outcomes.push(outcome.is === 'refused' ? outcome.code : outcome.is)
  return { lane: cluster.kafka.sink.open<null>({ ...part, topicId }, () => true, note), outcomes }
}

function write(lane: ReturnType<typeof laneTo>['lane'], values: string[]): void {
  const batch = loose(batchOf(values))
  lane.send(batch, null)
  batch.release()
}

async function topicOf(admin: ClusterAdmin, topic: string) {
  const found = (await admin.look([topic])).topics[0]
  assert.ok(found)
  return found
}

function ledOf(topic: { partitions: { leader: number }[] }): number {
  return topic.partitions.filter(partition => partition.leader >= 0).length
}

/** What is set on the topic itself, as `name=value`. */
async function setOn(admin: ClusterAdmin, topic: string): Promise<string[]> {
  const configs = (await admin.topicConfigs([topic])).get(topic) ?? []
  return configs
    .filter(config => config.onTopic)
    .map(({ name, value }) => `${name}=${value}`)
    .toSorted()
}

/** Asks again and again until the answer is yes. */
async function settled(cluster: ContractCluster, ask: () => Promise<boolean>): Promise<void> {
  let yes = false
  let asking = false
  await cluster.until(() => {
    if (!asking && !yes) {
      asking = true
      void ask().then(answer => {
        yes = answer
        asking = false
      })
    }
    return yes
  })
}
