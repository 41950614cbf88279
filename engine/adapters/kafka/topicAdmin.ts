import net from 'node:net'
import tls from 'node:tls'
import { type Admin, Kafka, logLevel } from 'kafkajs'
import { MillraceError } from '../../errors.ts'
import {
  adminIdleMs,
  adminReauthenticateMs,
  adminTimeoutMs,
  connectTimeoutMs,
  describeTopicsMax,
  stopReserveMs,
} from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ClusterAdmin, TopicConfig } from '../../ports/kafka.ts'
import type { Address } from './cluster.ts'
import { type AdminAsk, createAsk, growAsk } from './decide/adminFault.ts'
import { classify } from './decide/classify.ts'
import { kafkajsFault, kafkaNumberOf } from './kafkajsFault.ts'
import { refuseFar, type Security, saslOptions, tlsOptions } from './login.ts'

/** Kafka's resource type of a topic; kafkajs types it as an enum that an ES module cannot import. */
const topicResource = 2
/** Its source of a setting that is set on the topic itself. */
const topicSource = 1

/**
 * Topic admin by kafkajs, for what happens rarely (KAFKA-CLIENT W-3). Its client is closed after a minute without use,
 * for an idle one burns a timer each millisecond.
 */
export class TopicAdmin {
  readonly #how: { cluster: string; bootstrap: Address[]; clientId: string; security: Security; clock: Clock }
  #admin: Promise<Admin> | null = null
  #cancelIdle: (() => void) | null = null
  #users = 0
  #stale = false
  #deaf = () => {}

  constructor(how: { cluster: string; bootstrap: Address[]; clientId: string; security: Security; clock: Clock }) {
    this.#how = how
  }

  /** False: it was there. Returns before every broker knows of it. */
  createTopic = (...how: Parameters<ClusterAdmin['createTopic']>): Promise<boolean> => {
    const [topic, partitions, more = {}] = how
    const configEntries = Object.entries(more.configs ?? {}).map(([name, value]) => ({ name, value }))
    return this.#with(createAsk(...how), async admin => {
      // kafkajs itself does not wait: it gives up at the first broker that has not heard of the topic yet.
      return admin.createTopics({
        waitForLeaders: false,
        topics: [{ topic, numPartitions: partitions, replicationFactor: more.replicas ?? -1, configEntries }],
      })
    })
  }

  /** Rejects with Kafka's error 37 when so many are there. Returns before the new ones have leaders. */
  growTopic = (topic: string, partitions: number): Promise<void> =>
    this.#with(growAsk(topic, partitions), async admin => {
      await admin.createPartitions({ topicPartitions: [{ topic, count: partitions }] })
    })

  /** What is gone, or may not be read, is left out. */
  topicConfigs: ClusterAdmin['topicConfigs'] = topics =>
    this.#with({ what: 'topic configs cannot be read', right: 'DescribeConfigs on the topics' }, async admin => {
      const found: [string, TopicConfig[]][] = []
      for (let i = 0; i < topics.length; i += describeTopicsMax)
        found.push(...(await described(admin, topics.slice(i, i + describeTopicsMax))))
      return new Map(found)
    })

  /** One that is still being opened may take longer than a whole stop: it is not waited for to the end. */
  async close(): Promise<void> {
    this.#cancelIdle?.()
    this.#deaf()
    const admin = this.#admin
    this.#admin = null
    if (!admin) return
    const late = new Promise<void>(resolve => this.#how.clock.after(stopReserveMs, resolve))
    await Promise.race([admin.then(a => a.disconnect()).catch(() => {}), late])
  }

  async #with<T>(ask: AdminAsk, work: (admin: Admin) => Promise<T>): Promise<T> {
    this.#cancelIdle?.()
    this.#users++
    const admin = this.#admin ?? this.#opening()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${adminTimeoutMs} ms`)), adminTimeoutMs)
    })
    try {
      return await Promise.race([admin.then(work), late])
    } catch (cause) {
      if (cause instanceof MillraceError) throw cause
      const fault = kafkajsFault(this.#how.cluster, ask, cause)
      // No broker has spoken. The next call opens a client anew, with the credentials of then.
      if (fault.kafka === null) this.#drop(admin)
      throw fault
    } finally {
      clearTimeout(timer)
      this.#users--
      if (this.#users === 0 && this.#stale) void this.close()
      else if (this.#users === 0) this.#cancelIdle = this.#how.clock.after(adminIdleMs, () => void this.close())
    }
  }

  /** One that fails leaves the place to the next call, and takes nothing from one that was opened meanwhile. */
  #opening(): Promise<Admin> {
    const admin = this.#open()
    this.#admin = admin
    admin.catch(() => {
      if (this.#admin === admin) this.#admin = null
    })
    return admin
  }

  async #open(): Promise<Admin> {
    const { security } = this.#how
    this.#stale = false
    this.#deaf()
    this.#deaf = security.onChange?.(() => this.#age()) ?? (() => {})
    let admin: Admin | null = null
    try {
      admin = await this.#client()
      await admin.connect()
      return admin
    } catch (cause) {
      await admin?.disconnect().catch(() => {})
      if (cause instanceof MillraceError) throw cause
      throw kafkajsFault(this.#how.cluster, { what: 'no broker answers', right: 'Describe on the cluster' }, cause)
    }
  }

  async #client(): Promise<Admin> {
    const { bootstrap, clientId, security } = this.#how
    const sasl = await saslOptions(security, bootstrap)
    const secured = security.tls ? await security.tls() : null
    return new Kafka({
      clientId,
      brokers: bootstrap.map(a => `${a.host}:${a.port}`),
      connectionTimeout: connectTimeoutMs,
      requestTimeout: adminTimeoutMs,
      reauthenticationThreshold: adminReauthenticateMs,
      logLevel: logLevel.NOTHING,
      retry: { retries: 3 },
      ...(secured ? { ssl: true } : {}),
      ...(sasl ? { sasl } : {}),
      socketFactory: ({ host, port, onConnect }) => {
        refuseFar(security, [{ host, port }])
        return secured
          ? tls.connect({ host, port, ...tlsOptions(host, secured) }, onConnect)
          : net.connect({ host, port }, onConnect)
      },
    }).admin()
  }

  /** The credentials have changed: who is at work goes on, the next one gets a client with the new ones (K-55). */
  #age(): void {
    this.#stale = true
    if (this.#users === 0) void this.close()
  }

  #drop(admin: Promise<Admin>): void {
    if (this.#admin === admin) this.#admin = null
    void admin.then(a => a.disconnect()).catch(() => {})
  }
}

/** One topic that is gone or denied fails the whole request of kafkajs: it is found by halves, and left out. */
async function described(admin: Admin, topics: string[]): Promise<[string, TopicConfig[]][]> {
  try {
    const resources = topics.map(name => ({ type: topicResource, name }))
    const answer = await admin.describeConfigs({ includeSynonyms: false, resources })
    return answer.resources.map(resource => [
      resource.resourceName,
      resource.configEntries.map(c => ({
        name: c.configName,
        value: c.configValue ?? null,
        isDefault: c.isDefault,
        onTopic: Number(c.configSource) === topicSource,
      })),
    ])
  } catch (cause) {
    const kafka = kafkaNumberOf(cause)
    if (kafka === null || !['missing', 'wait', 'refused'].includes(classify('admin', kafka))) throw cause
    if (topics.length === 1) return []
    const half = Math.ceil(topics.length / 2)
    const first = await described(admin, topics.slice(0, half))
    return [...first, ...(await described(admin, topics.slice(half)))]
  }
}
