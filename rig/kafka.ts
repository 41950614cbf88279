import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { allOrNone } from './allOrNone.ts'
import { type Certificates, makeCertificates } from './certificates.ts'
import { startChild } from './child.ts'
import { jarsOf } from './jars.ts'
import { archiveFlag, kafkaReadyLine } from './kafka/archive.ts'
import { jvmArgs } from './kafka/jvm.ts'
import { askCluster } from './kafka/metadata.ts'
import { isTls, type KafkaOptions, type KafkaPlan, planOf, readKafkaWords, type User } from './kafka/options.ts'
import { type BrokerPorts, brokerProperties, listenerHost } from './kafka/properties.ts'
import { formatData, newId, templateOf } from './kafka/template.ts'
import { brokerHeapFactor, brokerOverheadMb, kafkaReadyMs } from './limits.ts'
import type { Part, RigContext, Running } from './part.ts'
import { type FaultProxy, proxy } from './proxy.ts'
import { runningGroup, runningProcess, untilReady } from './running.ts'
import { findTool, type Tool } from './tools.ts'
import { kafkaJars } from './versions.ts'

export type BrokerAddress = { id: number; host: string; port: number }

/** Where clients connect: each of the strings is a list `host:port,…` over all brokers. */
export type KafkaAddress = {
  /** The plain listeners; always there. */
  bootstrap: string
  tls?: string
  tlsExpired?: string
  tlsWrongHost?: string
  saslPlaintext?: string
  saslTls?: string
  /** The fault proxies; plain. */
  proxied?: string
  /** Plain listener of each broker, in the order of `id`, from 1. */
  brokers: BrokerAddress[]
  /** Of the SASL listeners. */
  users: User[]
  /** Paths of PEM files, when a TLS listener is there. */
  certificates: Certificates | null
}

export interface KafkaCluster extends Running<KafkaAddress> {
  /** Each broker for itself, in the order of `id`. */
  readonly brokers: Running<BrokerAddress>[]
  /** One before each broker, in the same order; empty without `proxied`. */
  readonly proxies: FaultProxy[]
}

/** A Kafka cluster of combined brokers and controllers. */
export const kafka: Part<KafkaOptions, KafkaCluster> = {
  name: 'kafka',
  async needs(options, cache) {
    const plan = planOf(options)
    const needed: Tool[] = ['java']
    if (!(await cache.has(cache.path(kafkaJars.kind, kafkaJars.pom)))) needed.push('mvn')
    if (plan.listeners.some(isTls)) needed.push('openssl')
    return needed
  },
  memoryMb(options) {
    const { brokers, heapMb } = planOf(options)
    return Math.ceil(brokers * (heapMb * brokerHeapFactor + brokerOverheadMb))
  },
  read: readKafkaWords,
  start: (options, ctx) => startCluster(planOf(options), ctx),
}

async function startCluster(plan: KafkaPlan, ctx: RigContext): Promise<KafkaCluster> {
  const jars = await jarsOf(kafkaJars, ctx)
  const template = await templateOf(plan.users, jars, ctx)
  const plainTemplate = plan.users.length === 0 ? template : await templateOf([], jars, ctx)
  const archive = await archiveFlag(plainTemplate, jars, ctx)
  const folder = join(ctx.dir, ctx.name)
  await mkdir(folder, { recursive: true })
  const certificates = plan.listeners.some(isTls) ? await makeCertificates(join(folder, 'certificates')) : null
  const proxies: FaultProxy[] = []
  try {
    const cluster = await takePorts(plan, ctx, proxies)
    ctx.progress('starting')
    const clusterId = newId()
    const brokers = await allOrNone(ctx, cluster, async (ports, own) => {
      const dataDir = join(folder, `data-${ports.id}`)
      await formatData(dataDir, template, clusterId, ports.id)
      const file = join(folder, `server-${ports.id}.properties`)
      await writeFile(file, brokerProperties(plan, cluster, ports, dataDir, certificates))
      const args = [...jvmArgs(jars, plan.heapMb, folder, { tuned: plan.tuned, archive }), 'kafka.Kafka', file]
      return startBroker(args, cluster, ports, own)
    })
    ctx.atEnd(async () => {
      await Promise.all(proxies.map(one => one.stop()))
    })
    const address = addressOf(plan, cluster, proxies, certificates)
    return Object.assign(runningGroup(ctx.name, address, brokers), { brokers, proxies })
  } catch (error) {
    await Promise.all(proxies.map(one => one.stop()))
    throw error
  }
}

async function takePorts(plan: KafkaPlan, ctx: RigContext, proxies: FaultProxy[]): Promise<BrokerPorts[]> {
  const cluster: BrokerPorts[] = []
  for (let id = 1; id <= plan.brokers; id++) {
    const listeners: BrokerPorts['listeners'] = {}
    for (const kind of plan.listeners) listeners[kind] = await ctx.ports.take()
    let proxied: BrokerPorts['proxied'] = null
    if (plan.proxied) {
      // The proxy is open before its broker is there, which must know the proxy's port to advertise it.
      const own = await ctx.ports.take()
      const open = await proxy({ host: '127.0.0.1', port: own }, { ports: ctx.ports })
      proxies.push(open)
      proxied = { own, proxy: open.address.port }
    }
    cluster.push({ id, plain: await ctx.ports.take(), controller: await ctx.ports.take(), listeners, proxied })
  }
  return cluster
}

async function startBroker(
  args: string[],
  cluster: BrokerPorts[],
  ports: BrokerPorts,
  ctx: RigContext,
): Promise<Running<BrokerAddress>> {
  const java = await findTool('java')
  const name = `${ctx.name}.${ports.id}`
  // At first every broker must be known to each; after a restart the others may be down on purpose.
  let awaited = cluster.map(({ id }) => id)
  const launch = async () => {
    const child = await startChild({ name, command: java.path, args, ready: kafkaReadyLine }, ctx)
    const ask = () => askCluster([ports.plain], awaited)
    await untilReady(child, name, { limitMs: kafkaReadyMs, ask })
    awaited = [ports.id]
    return child
  }
  return runningProcess(ctx, name, { id: ports.id, host: '127.0.0.1', port: ports.plain }, launch)
}

function addressOf(
  plan: KafkaPlan,
  cluster: BrokerPorts[],
  proxies: FaultProxy[],
  certificates: Certificates | null,
): KafkaAddress {
  const address: KafkaAddress = {
    bootstrap: cluster.map(({ plain }) => `127.0.0.1:${plain}`).join(','),
    brokers: cluster.map(({ id, plain }) => ({ id, host: '127.0.0.1', port: plain })),
    users: plan.users,
    certificates,
  }
  for (const kind of plan.listeners) {
    address[fieldOf[kind]] = cluster.map(({ listeners }) => `${listenerHost(kind)}:${listeners[kind]}`).join(',')
  }
  if (plan.proxied) address.proxied = proxies.map(({ address: { port } }) => `127.0.0.1:${port}`).join(',')
  return address
}

const fieldOf = {
  plaintext: 'bootstrap',
  tls: 'tls',
  'tls-expired': 'tlsExpired',
  'tls-wrong-host': 'tlsWrongHost',
  'sasl-plaintext': 'saslPlaintext',
  'sasl-tls': 'saslTls',
} as const
