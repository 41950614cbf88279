import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminFault, alterAsk, createAsk, growAsk } from '../../../engine/adapters/kafka/decide/adminFault.ts'
import { kafkajsFault, kafkaNumberOf } from '../../../engine/adapters/kafka/kafkajsFault.ts'
import { missingRight } from '../../../engine/flow/missingRight.ts'
import { manualClock } from '../../fakes/clock.ts'
import { fakeKafka } from '../../fakes/kafka/cluster.ts'

const ask = createAsk('t', 3, { replicas: 2, configs: { 'retention.ms': '5' } })
const told = (kafka: number, text: string | null = null) => adminFault('west', ask, { kafka, text })

test("what the cluster says of a topic is ours to name: the code, what was asked, the broker's text and number", () => {
  const fault = told(44, 'at least 3 replicas here')
  assert.equal(
    fault.message,
    "west: topic t cannot be created (3 partitions, 2 replicas, retention.ms=5): at least 3 replicas here (Kafka's error 44)",
  )
  assert.match(fault.hint ?? '', /policy/)
  const codes = [17, 37, 38, 40, 44, 3, 29, 31, 42, 7, 41, 89, -1].map(kafka => {
    const { code, retryable, kafka: number } = told(kafka)
    assert.equal(number, kafka)
    return [kafka, code, retryable]
  })
  assert.deepEqual(codes, [
    ...[17, 37, 38, 40, 44].map(kafka => [kafka, 'config-invalid', false]),
    [3, 'not-found', false],
    [29, 'kafka-not-authorized', true],
    [31, 'kafka-not-authorized', true],
    [42, 'kafka-protocol', false],
    ...[7, 41, 89, -1].map(kafka => [kafka, 'kafka-unreachable', true]),
  ])
  assert.equal(told(29).hint, missingRight('Create on topic t or on the cluster'))
  assert.equal(growAsk('t', 5).what, 'topic t cannot be grown to 5 partitions')
  const change = { topic: 't', set: { 'retention.ms': '5' }, unset: ['segment.ms'] }
  assert.equal(alterAsk(change).what, 'settings of topic t cannot be changed (retention.ms=5, segment.ms unset)')
})

test('what kafkajs throws is read through its layers: a number, a refused login, or nobody there', () => {
  const protocol = Object.assign(new Error('Replication-factor is invalid'), { code: 38 })
  const aggregate = Object.assign(new Error('Topic creation errors'), { errors: [protocol] })
  const wrapped = new Error('gave up', { cause: new Error('again', { cause: aggregate }) })
  const fault = kafkajsFault('west', ask, wrapped)
  assert.deepEqual([fault.code, fault.kafka, fault.retryable], ['config-invalid', 38, false])
  assert.match(fault.message, /Replication-factor is invalid \(Kafka's error 38\)$/)
  assert.equal(kafkaNumberOf(wrapped), 38)
  const refused = Object.assign(new Error('SASL PLAIN failed'), { name: 'KafkaJSSASLAuthenticationError' })
  const login = kafkajsFault('west', ask, new Error('gave up', { cause: refused }))
  assert.deepEqual([login.code, login.kafka, login.retryable], ['kafka-login-refused', null, false])
  const socket = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  for (const cause of [socket, new Error('gave up', { cause: socket }), 'a text', null]) {
    const away = kafkajsFault('west', ask, cause)
    assert.deepEqual([away.code, away.kafka, away.retryable], ['kafka-unreachable', null, true])
    assert.equal(kafkaNumberOf(cause), null)
  }
})

test('brokers in memory deny what a test wants denied, and count what would change a topic', async () => {
  const clock = manualClock()
  const fake = fakeKafka({ clock })
  const { admin } = fake
  // What is asked by our own frames needs the clock to go on.
  let on = true
  const running = (async () => {
    while (on) await clock.advance(1)
  })()
  fake.topic('t', 1, { 'retention.ms': '7' })
  for (const api of ['createTopic', 'growTopic', 'alterTopicConfigs'] as const) fake.denyAdmin(api, 29)
  const denied = { code: 'kafka-not-authorized', kafka: 29 }
  await assert.rejects(admin.createTopic('u', 1), denied)
  await assert.rejects(admin.growTopic('t', 2), denied)
  const change = { topic: 't', set: { 'retention.ms': '8' }, unset: [] }
  const refused = await admin.alterTopicConfigs([change])
  assert.deepEqual(
    refused.map(({ topic, fault }) => [topic, fault.code, fault.hint]),
    [['t', 'kafka-not-authorized', missingRight('AlterConfigs on topic t')]],
  )
  assert.equal(fake.counts().adminWrites, 3)
  assert.deepEqual([...fake.topic('other').configs], [])
  for (const api of ['createTopic', 'growTopic', 'alterTopicConfigs'] as const) fake.denyAdmin(api, 0)
  await admin.createTopic('u', 1)
  await admin.growTopic('t', 2)
  assert.deepEqual(await admin.alterTopicConfigs([change]), [])
  const set = (await admin.topicConfigs(['t'])).get('t')?.filter(config => config.onTopic)
  assert.deepEqual(set, [{ name: 'retention.ms', value: '8', isDefault: false, onTopic: true }])
  assert.equal(fake.counts().adminWrites, 6)
  on = false
  await running
  await fake.close()
})
