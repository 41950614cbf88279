import type { Certificates, Identity } from '../certificates.ts'
import { isSasl, isTls, type KafkaPlan, type ListenerKind, type User } from './options.ts'

/** The ports of one broker. `listeners` holds those of the plan, `plaintext` not among them. */
export type BrokerPorts = {
  id: number
  plain: number
  controller: number
  listeners: Partial<Record<ListenerKind, number>>
  /** The broker's own port behind its proxy, and the proxy's. */
  proxied: { own: number; proxy: number } | null
}

/** `sasl-tls` is the listener `SASL_TLS`. */
function listenerName(kind: ListenerKind): string {
  return kind.toUpperCase().replaceAll('-', '_')
}

/** R-6: names where a certificate needs one. */
export function listenerHost(kind: ListenerKind): string {
  return isTls(kind) ? 'localhost' : '127.0.0.1'
}

type Listener = { name: string; protocol: string; own: string; advertised: string }

function listenersOf(ports: BrokerPorts): Listener[] {
  const all: Listener[] = [
    plainListener('PLAINTEXT', ports.plain, ports.plain),
    { ...plainListener('CONTROLLER', ports.controller, ports.controller), advertised: '' },
  ]
  if (ports.proxied !== null) all.push(plainListener('PROXIED', ports.proxied.own, ports.proxied.proxy))
  for (const [kind, port] of Object.entries(ports.listeners) as [ListenerKind, number][]) {
    const protocol = `${isSasl(kind) ? 'SASL_' : ''}${isTls(kind) ? 'SSL' : 'PLAINTEXT'}`
    const advertised = `${listenerHost(kind)}:${port}`
    all.push({ name: listenerName(kind), protocol, own: `127.0.0.1:${port}`, advertised })
  }
  return all
}

function plainListener(name: string, port: number, advertised: number): Listener {
  return { name, protocol: 'PLAINTEXT', own: `127.0.0.1:${port}`, advertised: `127.0.0.1:${advertised}` }
}

/** The properties of one broker (R-21), as the text of its file. `cluster` holds the ports of all, `id` from 1. */
export function brokerProperties(
  plan: KafkaPlan,
  cluster: BrokerPorts[],
  ports: BrokerPorts,
  dataDir: string,
  certificates: Certificates | null,
): string {
  const listeners = listenersOf(ports)
  const properties: Record<string, string | number> = {
    'process.roles': 'broker,controller',
    'node.id': ports.id,
    'controller.quorum.voters': cluster.map(broker => `${broker.id}@127.0.0.1:${broker.controller}`).join(','),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    listeners: listeners.map(({ name, own }) => `${name}://${own}`).join(','),
    'advertised.listeners': listeners
      .filter(({ advertised }) => advertised !== '')
      .map(({ name, advertised }) => `${name}://${advertised}`)
      .join(','),
    'listener.security.protocol.map': listeners.map(({ name, protocol }) => `${name}:${protocol}`).join(','),
    'log.dirs': dataDir,
    ...baseProperties(Math.min(3, cluster.length)),
    ...(plan.fastFailover ? fastFailover : {}),
    ...(plan.authorizer ? authorizer : {}),
    ...Object.assign({}, ...plan.listeners.map(kind => securityOf(kind, plan, certificates))),
    ...plan.overrides,
  }
  return `${Object.entries(properties)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`
}

function baseProperties(replicas: number): Record<string, string | number> {
  return {
    'default.replication.factor': replicas,
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.num.partitions': 4,
    'transaction.state.log.min.isr': 1,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    'auto.create.topics.enable': 'false',
    'log.retention.ms': -1,
    'num.network.threads': 2,
    'num.io.threads': 2,
    'log.cleaner.threads': 1,
    'log.cleaner.dedupe.buffer.size': 2_097_152,
    // A compaction is seen within half a second.
    'log.cleaner.backoff.ms': 200,
    'log.initial.task.delay.ms': 100,
  }
}

const fastFailover = {
  'broker.session.timeout.ms': 2_000,
  'broker.heartbeat.interval.ms': 250,
  'controller.quorum.fetch.timeout.ms': 1_000,
  'controller.quorum.election.timeout.ms': 500,
}

const authorizer = {
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'super.users': 'User:ANONYMOUS',
}

function securityOf(kind: ListenerKind, plan: KafkaPlan, certificates: Certificates | null): Record<string, string> {
  const prefix = `listener.name.${listenerName(kind).toLowerCase()}`
  const tls = isTls(kind) && certificates !== null ? tlsOf(prefix, kind, plan, certificates) : {}
  return { ...tls, ...(isSasl(kind) ? saslOf(prefix, plan.users) : {}) }
}

function tlsOf(
  prefix: string,
  kind: ListenerKind,
  plan: KafkaPlan,
  certificates: Certificates,
): Record<string, string> {
  const bad: Partial<Record<ListenerKind, Identity>> = {
    'tls-expired': certificates.expired,
    'tls-wrong-host': certificates.wrongHost,
  }
  return {
    [`${prefix}.ssl.keystore.type`]: 'PEM',
    [`${prefix}.ssl.keystore.location`]: (bad[kind] ?? certificates.server).pem,
    [`${prefix}.ssl.truststore.type`]: 'PEM',
    [`${prefix}.ssl.truststore.location`]: certificates.authority,
    [`${prefix}.ssl.client.auth`]: plan.clientCertificate,
  }
}

function saslOf(prefix: string, users: User[]): Record<string, string> {
  const scram = 'org.apache.kafka.common.security.scram.ScramLoginModule required;'
  const known = users.map(({ name, password }) => ` user_${name}="${password}"`).join('')
  return {
    [`${prefix}.sasl.enabled.mechanisms`]: 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    [`${prefix}.plain.sasl.jaas.config`]: `org.apache.kafka.common.security.plain.PlainLoginModule required${known};`,
    [`${prefix}.scram-sha-256.sasl.jaas.config`]: scram,
    [`${prefix}.scram-sha-512.sasl.jaas.config`]: scram,
  }
}
