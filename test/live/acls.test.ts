import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import kafkajs from 'kafkajs'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { missingRight } from '../../engine/flow/missingRight.ts'
import { Secret } from '../../engine/flow/secret.ts'
import { type Acl, aclsNeeded, type Operation } from '../../engine/mirror/decide/aclsNeeded.ts'
import { mirrorSpec } from '../../engine/mirror/spec.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { type KafkaAddress, kafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { javaTool } from './javaTool.ts'
import { openCluster } from './kafkaCopy.ts'
import { kafkaClient } from './kafkajs.ts'
import { millrace } from './millrace.ts'
import { partitionsAt, settingsOf, untilEnd, write } from './mirrorPlaces.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'
import { eventually } from './runFile.ts'
import { soloOf } from './soloOf.ts'

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs
const longestMs = 300_000

/** What is taken away of what is printed, and which right the fault then names; of a flow that has `destination`. */
type Case = {
  from?: [Operation, on: string]
  to?: [Operation, on: string]
  names: string
  destination?: Record<string, unknown>
  /** Partitions of the destination topic that somebody has made. */
  there?: number
}
const topics = (user: string) => `acls-${user}.`
const guard = (user: string) => `millrace.mirror.${user}`
const cases: Record<string, (user: string) => Case> = {
  s1: user => ({ from: ['Read', topics(user)], names: `Read on topics with the prefix ${topics(user)}` }),
  s2: user => ({ from: ['DescribeConfigs', topics(user)], names: `DescribeConfigs on topic ${topics(user)}a` }),
  s3: () => ({ from: ['Read', 'millrace.mirror.'], names: 'Read on topics with the prefix millrace.mirror.' }),
  s4: user => ({ from: ['Read', `millrace.${user}`], names: `Read on group millrace.${user}` }),
  d1: user => ({ to: ['Write', topics(user)], names: `Write on topic ${topics(user)}a of the destination` }),
  d2: user => ({ to: ['Create', topics(user)], names: `Create on topic ${topics(user)}a or on the cluster` }),
  d3: user => ({ to: ['Alter', topics(user)], names: `Alter on topic ${topics(user)}a`, there: 1 }),
  d4: user => ({ to: ['AlterConfigs', topics(user)], names: `AlterConfigs on topic ${topics(user)}a` }),
  p1: user => ({ to: ['Create', guard(user)], names: `Create on topic ${guard(user)} or on the cluster` }),
  p2: user => ({ to: ['Read', guard(user)], names: `Read on topic ${guard(user)}` }),
  p3: user => ({ to: ['Write', guard(user)], names: `Write on topic ${guard(user)}` }),
  c1: user => ({
    to: ['DescribeConfigs', topics(user)],
    names: `DescribeConfigs on topic ${topics(user)}a`,
    destination: { create: true, config: { sync: false } },
  }),
  n1: user => ({
    to: ['Write', topics(user)],
    names: `Write on topic ${topics(user)}a`,
    destination: { create: false, config: { sync: false } },
    there: 2,
  }),
}
const users = ['all', 'few', ...Object.keys(cases)].map(name => ({ name, password: `${name}-secret` }))
const locked = () => want(kafka, { listeners: ['sasl-plaintext'], authorizer: true, users })
const wishes = () => ({ from: locked(), to: locked() })

describe('the rights that `acls --needed` prints', live, () => {
  let set: LiveRig<ReturnType<typeof wishes>>
  let from: KafkaCluster
  let to: KafkaCluster
  let tools: Record<'from' | 'to', ReturnType<typeof kafkaClient>>
  const opened: KafkaCluster[] = []
  const alive = setInterval(() => {}, longestMs)

  before(async () => {
    set = await rigFor(wishes())
    const [source, destination] = [set.parts.from.address.bootstrap, set.parts.to.address.bootstrap]
    from = openPlain('from', source)
    to = openPlain('to', destination)
    opened.push(from, to)
    tools = { from: kafkaClient(source), to: kafkaClient(destination) }
  })
  after(async () => {
    clearInterval(alive)
    await Promise.all([...opened, ...Object.values(tools ?? {})].map(one => one.close()))
    await set?.dispose()
  })

  const soon = (t: TestContext) => AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])

  /** A mirror of `acls-USER.*` that may do what USER may. */
  function mirrorAs(user: string, destination: Record<string, unknown>, signal: AbortSignal) {
    const over = new AbortController()
    const events: FlowEvent[] = []
    const found = Promise.withResolvers<FlowEvent>()
    const clusterAs = (name: string, { saslPlaintext = '' }: KafkaAddress) => {
      const credential = async () => ({
        username: user,
        password: new Secret(`${user}-secret`, { name: user, generation: 1 }),
      })
      const sasl = { mechanism: 'plain' as const, credential }
      const cluster = openCluster(name, saslPlaintext, new MemoryAccount(), { security: { tls: null, sasl } })
      opened.push(cluster)
      return cluster
    }
    const solo = soloOf(
      user,
      { topics: { include: [`acls-${user}\\..*`] }, destination },
      {
        east: clusterAs('from', set.parts.from.address),
        west: clusterAs('to', set.parts.to.address),
        stop: AbortSignal.any([signal, over.signal]),
        tell(event) {
          events.push(event)
          if (event.code === 'kafka-not-authorized') found.resolve(event)
        },
      },
    )
    signal.addEventListener('abort', () => found.reject(new Error(`nothing was told but ${JSON.stringify(events)}`)))
    // Where nothing is denied nobody waits for it.
    found.promise.catch(() => {})
    const end = async () => {
      over.abort()
      await solo.done
    }
    return { events, denied: found.promise, end }
  }

  async function allow(at: 'from' | 'to', user: string, acls: readonly Acl[], signal: AbortSignal): Promise<void> {
    const acl = acls.flatMap(({ on, name, pattern, operations }) =>
      operations.map(operation => ({
        resourceType: on === 'topic' ? AclResourceTypes.TOPIC : AclResourceTypes.GROUP,
        resourceName: name,
        resourcePatternType: pattern === 'prefixed' ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
        principal: `User:${user}`,
        host: '*',
        operation: numberOf(operation),
        permissionType: AclPermissionTypes.ALLOW,
      })),
    )
    if (acl.length === 0) return
    const { admin } = tools[at]
    await admin.createAcls({ acl })
    // The broker answers before they are in force.
    const ours = { principal: `User:${user}`, resourceType: AclResourceTypes.ANY, host: '*' }
    const any = { operation: AclOperationTypes.ANY, permissionType: AclPermissionTypes.ANY }
    await eventually(async () => {
      const { resources } = await admin.describeAcls({ ...ours, ...any, resourcePatternType: ResourcePatternTypes.ANY })
      const there = resources.reduce((sum, one) => sum + one.acls.length, 0)
      return there === acl.length ? true : null
    }, signal)
  }

  /** Two partitions, forty records in each. */
  async function sourceTopic(topic: string, signal: AbortSignal): Promise<void> {
    await from.admin.createTopic(topic, 2)
    for (const partition of [0, 1]) await write(from, { topic, partition }, [0, 40], signal)
  }

  for (const name of ['all', 'few']) {
    const flags = name === 'all' ? [] : ['--no-create']
    test(`the printed commands, run by Kafka's own tool, are all that a mirror needs${name === 'all' ? '' : ', without the right to create'}`, async t => {
      const signal = soon(t)
      const topic = `acls-${name}.a`
      await sourceTopic(topic, signal)
      if (name === 'few') await to.admin.createTopic(topic, 2)
      const clusters = ['--from', set.parts.from.address.bootstrap, '--to', set.parts.to.address.bootstrap]
      const asked = ['--topics', `acls-${name}\\..*`, '--name', name, '--principal', `User:${name}`, ...flags]
      const printed = await millrace(['mirror', 'acls', '--needed', ...clusters, ...asked], signal).ended
      assert.equal(printed.code, 0, printed.stderr)
      const commands = printed.stdout.split('\n').filter(line => line.startsWith('kafka-acls.sh '))
      assert.equal(commands.length, 5)
      for (const command of commands) await javaTool('org.apache.kafka.tools.AclCommand', command.split(' ').slice(1))
      const mirror = mirrorAs(name, { create: name === 'all' }, signal)
      for (const partition of [0, 1]) await untilEnd(to, { topic, partition }, 40, signal)
      await tools.from.admin.alterConfigs(retention(topic))
      if (name === 'all') {
        await from.admin.growTopic(topic, 3)
        await eventually(async () => ((await partitionsAt(to, topic)) === 3 ? true : null), signal)
      }
      await mirror.end()
      // A new leader reads the settings at once.
      const again = mirrorAs(name, { create: name === 'all' }, signal)
      await eventually(async () => ((await settingsOf(to, topic))['retention.ms'] === '86400000' ? true : null), signal)
      await again.end()
      assert.deepEqual([...mirror.events, ...again.events], [])
    })
  }

  test('each of them, when it is missing alone, is named by operation and resource', async t => {
    const signal = soon(t)
    const told = Object.entries(cases).map(async ([user, caseOf]) => {
      const { from: fromLess, to: toLess, names, destination = {}, there = 0 } = caseOf(user)
      const include = [`acls-${user}\\..*`]
      const spec = mirrorSpec.parse({ from: 'east', to: 'west', topics: { include }, destination })
      const needed = aclsNeeded(spec, user)
      const topic = `acls-${user}.a`
      await sourceTopic(topic, signal)
      if (there > 0) await to.admin.createTopic(topic, there)
      await allow('from', user, without(needed.source, fromLess), signal)
      await allow('to', user, without(needed.destination, toLess), signal)
      const mirror = mirrorAs(user, destination, signal)
      const { hint } = await mirror.denied
      await mirror.end()
      return [user, hint?.slice(0, missingRight(names).length), missingRight(names)]
    })
    const found = await Promise.all(told)
    assert.deepEqual(
      found.map(([user, hint]) => [user, hint]),
      found.map(([user, , expected]) => [user, expected]),
    )
  })

  test('what is printed and what is taken away are the same: no right is left untried', () => {
    const tried = Object.entries(cases).map(([user, caseOf]) => {
      const { from: source, to: destination, destination: words = {} } = caseOf(user)
      return { features: JSON.stringify(words), right: [source ? 'from' : 'to', ...(source ?? destination ?? [])] }
    })
    const all = tried
      .filter(({ features }) => features === '{}')
      .map(({ right }) => right.join(' ').replace(/(acls-|mirror\.|millrace\.)[sdp]\d/, '$1f'))
    const spec = mirrorSpec.parse({ from: 'east', to: 'west', topics: { include: ['acls-f\\..*'] } })
    const { source, destination } = aclsNeeded(spec, 'f')
    const rights = (at: string, acls: Acl[]) =>
      acls.flatMap(acl => acl.operations.map(one => `${at} ${one} ${acl.name}`))
    assert.deepEqual(all.toSorted(), [...rights('from', source), ...rights('to', destination)].toSorted())
  })
})

function without(acls: readonly Acl[], less: [Operation, on: string] | undefined): Acl[] {
  if (less === undefined) return [...acls]
  const [operation, name] = less
  const rest = acls.map(acl =>
    acl.name === name ? { ...acl, operations: acl.operations.filter(one => one !== operation) } : acl,
  )
  assert.notDeepEqual(rest, acls)
  return rest
}

function numberOf(operation: Operation): number {
  const numbers = {
    Alter: AclOperationTypes.ALTER,
    AlterConfigs: AclOperationTypes.ALTER_CONFIGS,
    Create: AclOperationTypes.CREATE,
    DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
    Read: AclOperationTypes.READ,
    Write: AclOperationTypes.WRITE,
  }
  return numbers[operation]
}
function retention(topic: string) {
  const configEntries = [{ name: 'retention.ms', value: '86400000' }]
  return { validateOnly: false, resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries }] }
}
