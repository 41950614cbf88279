import net from 'node:net'
import tls from 'node:tls'
import { type Admin, Kafka, logLevel } from 'kafkajs'
import { MillraceError } from '../../errors.ts'
import { adminIdleMs, adminReauthenticateMs, adminTimeoutMs, connectTimeoutMs } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ClusterAdmin } from '../../ports/kafka.ts'
import type { Address } from './cluster.ts'
import { type Security, saslOptions, tlsOptions } from './login.ts'

/** Kafka's resource type of a topic; kafkajs types it as an enum that an ES module cannot import. */
const topicResource = 2

/**
 * Topic admin by kafkajs, for what happens rarely (KAFKA-CLIENT W-3). Its client is closed after a minute without use,
 * for an idle one burns a timer each millisecond.
 */
export class TopicAdmin {
  readonly #how: { cluster: string; bootstrap: Address[]; clientId: string; security: Security; clock: Clock }
  #admin: Promise<Admin> | null = null
  #cancelIdle: (() => void) | null = null
  #users = 0

  constructor(how: { cluster: string; bootstrap: Address[]; clientId: string; security: Security; clock: Clock }) {
    this.#how = how
  }

  /** False: it was there. Returns before every broker knows of it. */
  createTopic = (...[topic, partitions, more = {}]: Parameters<ClusterAdmin['createTopic']>): Promise<boolean> =>
    this.#with(`topic ${topic} cannot be created`, async admin => {
      const configEntries = Object.entries(more.configs ?? {}).map(([name, value]) => ({ name, value }))
      // kafkajs itself does not wait: it gives up at the first broker that has not heard of the topic yet.
      return admin.createTopics({
        waitForLeaders: false,
        topics: [{ topic, numPartitions: partitions, replicationFactor: more.replicas ?? -1, configEntries }],
      })
    })

  topicConfigs: ClusterAdmin['topicConfigs'] = topics =>
    this.#with('topic configs cannot be read', async admin => {
      const resources = topics.map(name => ({ type: topicResource, name }))
      const answer = await admin.describeConfigs({ includeSynonyms: false, resources })
      return new Map(
        answer.resources.map(resource => [
          resource.resourceName,
          resource.configEntries.map(c => ({
            name: c.configName,
            value: c.configValue ?? null,
            isDefault: c.isDefault,
          })),
        ]),
      )
    })

  async close(): Promise<void> {
    this.#cancelIdle?.()
    const admin = this.#admin
    this.#admin = null
    await admin?.then(a => a.disconnect()).catch(() => {})
  }

  async #with<T>(what: string, work: (admin: Admin) => Promise<T>): Promise<T> {
    this.#cancelIdle?.()
    this.#users++
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${adminTimeoutMs} ms`)), adminTimeoutMs)
    })
    try {
      this.#admin ??= this.#open()
      return await Promise.race([this.#admin.then(work), late])
    } catch (cause) {
      if (cause instanceof MillraceError) throw cause
      throw this.#fault(what, cause)
    } finally {
      clearTimeout(timer)
      this.#users--
      if (this.#users === 0) this.#cancelIdle = this.#how.clock.after(adminIdleMs, () => void this.close())
    }
  }

  async #open(): Promise<Admin> {
    const { bootstrap, clientId, security } = this.#how
    const sasl = security.sasl ? await saslOptions(security.sasl) : undefined
    const admin = new Kafka({
      clientId,
      brokers: bootstrap.map(a => `${a.host}:${a.port}`),
      connectionTimeout: connectTimeoutMs,
      requestTimeout: adminTimeoutMs,
      reauthenticationThreshold: adminReauthenticateMs,
      logLevel: logLevel.NOTHING,
      retry: { retries: 3 },
      ...(security.tls ? { ssl: true } : {}),
      ...(sasl ? { sasl } : {}),
      socketFactory: ({ host, port, onConnect }) =>
        security.tls
          ? tls.connect({ host, port, ...tlsOptions(host, security.tls) }, onConnect)
          : net.connect({ host, port }, onConnect),
    }).admin()
    try {
      await admin.connect()
      return admin
    } catch (cause) {
      this.#admin = null
      await admin.disconnect().catch(() => {})
      throw this.#fault('no broker answers', cause)
    }
  }

  #fault(what: string, cause: unknown): MillraceError {
    const kafka = (cause as { code?: unknown } | null)?.code
    const denied = kafka === 29 || kafka === 31
    return new MillraceError(
      denied ? 'kafka-not-authorized' : 'kafka-unreachable',
      `${this.#how.cluster}: ${what}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { retryable: true, cause, kafka: typeof kafka === 'number' ? kafka : null },
    )
  }
}
