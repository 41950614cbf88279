import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import kafkajs from 'kafkajs'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { missingRight } from '../../engine/flow/missingRight.ts'
import { Secret } from '../../engine/flow/secret.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { kafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { openCluster } from './kafkaCopy.ts'
import { kafkaClient } from './kafkajs.ts'
import { partitionsAt, untilEnd, write } from './mirrorPlaces.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'
import { soloOf } from './soloOf.ts'

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs
const { ALTER_CONFIGS, CREATE, DESCRIBE, DESCRIBE_CONFIGS, READ, WRITE } = AclOperationTypes
const longestMs = 120_000
const wishes = () => ({ locked: want(kafka, { listeners: ['sasl-plaintext'], authorizer: true }) })

describe('a mirror to a cluster where it may not make topics', live, () => {
  let set: LiveRig<ReturnType<typeof wishes>>
  let east: KafkaCluster
  /** May do everything; and one that may write what is there. */
  let owner: KafkaCluster
  let locked: KafkaCluster
  let tools: ReturnType<typeof kafkaClient>
  const alive = setInterval(() => {}, longestMs)

  before(async () => {
    set = await rigFor(wishes())
    const { bootstrap, saslPlaintext = '', users } = set.parts.locked.address
    east = openPlain('east', set.east.bootstrap)
    owner = openPlain('owner', bootstrap)
    const [user] = users
    const password = new Secret(user?.password ?? '', { name: 'test', generation: 1 })
    const credential = async () => ({ username: user?.name ?? '', password })
    const sasl = { mechanism: 'plain' as const, credential }
    locked = openCluster('locked', saslPlaintext, new MemoryAccount(), { security: { tls: null, sasl } })
    tools = kafkaClient(bootstrap)
    await allow('rights.', [DESCRIBE, WRITE, DESCRIBE_CONFIGS, ALTER_CONFIGS])
    await allow('millrace.mirror.', [DESCRIBE, CREATE, READ, WRITE])
  })
  after(async () => {
    clearInterval(alive)
    await Promise.all([east?.close(), owner?.close(), locked?.close(), tools?.close()])
    await set?.dispose()
  })

  async function allow(prefix: string, operations: number[]): Promise<void> {
    const acl = operations.map(operation => ({
      resourceType: AclResourceTypes.TOPIC,
      resourceName: prefix,
      resourcePatternType: ResourcePatternTypes.PREFIXED,
      principal: 'User:millrace',
      host: '*',
      operation,
      permissionType: AclPermissionTypes.ALLOW,
    }))
    await tools.admin.createAcls({ acl })
  }

  test('a topic that may not be made is named once with the right, the others are copied, and it follows when it may be made', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const parts = ['rights.there', 'rights.missing'].map(topic => ({ topic, partition: 0 }))
    for (const part of parts) {
      await east.admin.createTopic(part.topic, 1)
      await write(east, part, [0, 40], signal)
    }
    await owner.admin.createTopic('rights.there', 1)
    const events: FlowEvent[] = []
    const refusedTwice = Promise.withResolvers<void>()
    const { admin } = locked
    let tries = 0
    const watched: KafkaCluster['admin'] = {
      look: (...args) => admin.look(...args),
      offsets: (...args) => admin.offsets(...args),
      growTopic: (...args) => admin.growTopic(...args),
      topicConfigs: (...args) => admin.topicConfigs(...args),
      alterTopicConfigs: (...args) => admin.alterTopicConfigs(...args),
      async createTopic(topic, ...more) {
        if (topic === 'rights.missing' && ++tries === 2) refusedTwice.resolve()
        await admin.createTopic(topic, ...more)
      },
    }
    const over = new AbortController()
    const solo = soloOf(
      'rights',
      { topics: { include: ['rights\\..*'] } },
      {
        east,
        west: { ...locked, admin: watched },
        stop: AbortSignal.any([signal, over.signal]),
        tell: event => void events.push(event),
      },
    )
    await untilEnd(owner, { topic: 'rights.there', partition: 0 }, 40, signal)
    await refusedTwice.promise
    const [flow] = solo.flows()
    assert.deepEqual(
      flow?.report().topics.map(({ topic, state }) => [topic, state]),
      [
        ['rights.missing', 'waiting'],
        ['rights.there', 'running'],
      ],
    )
    assert.equal(await partitionsAt(owner, 'rights.missing'), 0)
    await allow('rights.', [CREATE])
    await untilEnd(owner, { topic: 'rights.missing', partition: 0 }, 40, signal)
    assert.deepEqual(
      events.map(({ code, hint }) => [code, hint]),
      [['kafka-not-authorized', missingRight('Create on topic rights.missing or on the cluster')]],
    )
    over.abort()
    await solo.done
  })
})
