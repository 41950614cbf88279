import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import kafkajs from 'kafkajs'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { missingRight } from '../../engine/flow/missingRight.ts'
import { Secret } from '../../engine/flow/secret.ts'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { type Opened, openCluster } from './kafkaCopy.ts'
import { kafkaClient } from './kafkajs.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs
const wishes = () => ({ locked: want(kafka, { listeners: ['sasl-plaintext'], authorizer: true }) })
const open = ['open-1', 'open-2', 'open-3']
const shut = ['shut-1', 'shut-2']

describe('admin of topics that we may not touch, and of brokers that go', live, () => {
  let set: LiveRig<ReturnType<typeof wishes>>
  /** May do everything; and one that may read the configs of `open-` topics only. */
  let everything: Opened
  let little: Opened
  let password = 'not this'
  const account = new MemoryAccount({ poison: true })
  before(async () => {
    set = await rigFor(wishes())
    const { bootstrap, saslPlaintext = '' } = set.parts.locked.address
    everything = openCluster('locked', bootstrap, account)
    const sasl = {
      mechanism: 'plain' as const,
      credential: async () => ({
        username: 'millrace',
        password: new Secret(password, { name: 'test', generation: 1 }),
      }),
    }
    little = openCluster('little', saslPlaintext, account, { security: { tls: null, sasl } })
    for (const topic of [...open, ...shut]) await everything.admin.createTopic(topic, 1)
    const other = kafkaClient(bootstrap)
    const acl = {
      resourceType: AclResourceTypes.TOPIC,
      resourceName: 'open-',
      resourcePatternType: ResourcePatternTypes.PREFIXED,
      principal: 'User:millrace',
      host: '*',
      operation: AclOperationTypes.DESCRIBE_CONFIGS,
      permissionType: AclPermissionTypes.ALLOW,
    }
    await other.admin.createAcls({ acl: [acl] })
    await other.close()
  })
  after(async () => {
    await Promise.all([everything?.close(), little?.close()])
    await set.dispose()
  })

  it('a refused login is named, and the next call logs in with the credentials of then', async () => {
    const refused = { code: 'kafka-login-refused', hint: "check the secret's user and mechanism" }
    await assert.rejects(little.admin.topicConfigs(open), refused)
    password = set.parts.locked.address.users[0]?.password ?? ''
    assert.deepEqual([...(await little.admin.topicConfigs(open)).keys()].toSorted(), open)
  })

  it('what may not be read is left out of the configs, and what may is there', async () => {
    const asked = [...shut, ...open, 'nobody-made-this']
    assert.deepEqual([...(await little.admin.topicConfigs(asked)).keys()].toSorted(), open)
    assert.deepEqual([...(await little.admin.topicConfigs(shut)).keys()], [])
    assert.deepEqual([...(await everything.admin.topicConfigs(asked)).keys()].toSorted(), [...open, ...shut])
  })

  it('what may not be made, grown or set is told with the right that is missing', async () => {
    const denied = (hint: string) => ({ code: 'kafka-not-authorized', kafka: 29, retryable: true, hint })
    await assert.rejects(
      little.admin.createTopic('new', 1),
      denied(missingRight('Create on topic new or on the cluster')),
    )
    await assert.rejects(little.admin.growTopic('open-1', 3), denied(missingRight('Alter on topic open-1')))
    const change = { topic: 'open-1', set: { 'retention.ms': '1000' }, unset: [] }
    const [refused] = await little.admin.alterTopicConfigs([change])
    assert.deepEqual([refused?.topic, refused?.fault.code], ['open-1', 'kafka-not-authorized'])
    assert.equal(refused?.fault.hint, missingRight('AlterConfigs on topic open-1'))
  })

  it('a broker that went away is kafka-unreachable, and when it is back the next call succeeds', async () => {
    await everything.admin.topicConfigs(open)
    await set.parts.locked.kill()
    const away = { code: 'kafka-unreachable', kafka: null, retryable: true }
    await assert.rejects(everything.admin.topicConfigs(open), away)
    await assert.rejects(everything.admin.growTopic('open-1', 2), away)
    await assert.rejects(
      everything.admin.alterTopicConfigs([{ topic: 'open-1', set: { 'retention.ms': '1000' }, unset: [] }]),
      { retryable: true, kafka: null },
    )
    await set.parts.locked.restart()
    await everything.admin.growTopic('open-1', 2)
    assert.deepEqual([...(await everything.admin.topicConfigs(open)).keys()].toSorted(), open)
  })
})
