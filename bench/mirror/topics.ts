import { type Admin, Kafka, logLevel } from 'kafkajs'

const goneTriesMax = 200
const goneEveryMs = 50

/** kafkajs for what the product never does: deleting topics. */
export async function kafkaClientFor(
  bootstrap: string,
): Promise<AsyncDisposable & { admin: Admin; gone(topics: string[]): Promise<void> }> {
  const admin = new Kafka({ brokers: bootstrap.split(','), logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  return {
    admin,
    async gone(topics) {
      for (let tries = 0; tries < goneTriesMax; tries++) {
        const there = await admin.listTopics()
        if (!topics.some(topic => there.includes(topic))) return
        await new Promise(resolve => setTimeout(resolve, goneEveryMs))
      }
      throw new Error(`topics ${topics.join(', ')} are still there`)
    },
    [Symbol.asyncDispose]: () => admin.disconnect(),
  }
}
