import { setTimeout as delay } from 'node:timers/promises'
import kafkajs from 'kafkajs'

export type ClientOptions = Partial<
  Pick<kafkajs.KafkaConfig, 'ssl' | 'sasl' | 'retry' | 'requestTimeout' | 'reauthenticationThreshold'>
>

const createPartitioner = kafkajs.Partitioners.DefaultPartitioner

/** An independent client for the rig's own tests: quick to give up unless `retry` says otherwise. */
export function kafkaClient(bootstrap: string, options: ClientOptions = {}) {
  const kafka = new kafkajs.Kafka({
    brokers: bootstrap.split(','),
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { retries: 2, initialRetryTime: 50 },
    ...options,
  })
  const admin = kafka.admin()
  let producer: kafkajs.Producer | null = null
  return {
    kafka,
    admin,
    async createTopic(topic: string, numPartitions = 1, replicationFactor = 1) {
      await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions, replicationFactor }] })
    },
    /** Asked again while a broker does not know a topic that was just made. */
    async partitionsOf(topic: string): Promise<kafkajs.PartitionMetadata[]> {
      for (let tries = 1; ; tries++) {
        try {
          const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
          return topics[0]?.partitions ?? []
        } catch (error) {
          if (!(error instanceof kafkajs.KafkaJSError) || !error.retriable || tries === 100) throw error
          await delay(50)
        }
      }
    },
    async send(topic: string, messages: kafkajs.Message[]) {
      if (producer === null) {
        producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1, createPartitioner })
        await producer.connect()
      }
      await producer.send({ topic, acks: -1, messages })
    },
    async close() {
      await Promise.all([admin.disconnect(), producer?.disconnect()])
    },
  }
}

/** The values of the first `count` records that a new group reads from the beginning, in the order of their arrival. */
export async function consumeAll(
  bootstrap: string,
  topic: string,
  count: number,
  options: ClientOptions = {},
): Promise<string[]> {
  const { kafka } = kafkaClient(bootstrap, options)
  const consumer = kafka.consumer({ groupId: `read-${topic}` })
  const values: string[] = []
  const done = Promise.withResolvers<void>()
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message }) => {
      values.push(message.value?.toString() ?? '')
      if (values.length === count) done.resolve()
    },
  })
  await done.promise
  await consumer.disconnect()
  return values
}
