import { setTimeout as delay } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import type { Part } from '../engine/ports/kafka.ts'
import { deleteRecordsAgainMs, deleteRecordsTriesMax } from './limits.ts'

/** Kafka's DeleteRecords: the log of the partition starts at `before` then. */
export async function deleteRecords(bootstrap: string, part: Part, before: bigint): Promise<void> {
  const kafka = new kafkajs.Kafka({ brokers: bootstrap.split(','), logLevel: kafkajs.logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  try {
    for (let tries = 1; ; tries++) {
      try {
        // It knows no topic that it was not asked for before.
        await admin.fetchTopicOffsets(part.topic)
        const partitions = [{ partition: part.partition, offset: `${before}` }]
        return await admin.deleteTopicRecords({ topic: part.topic, partitions })
      } catch (error) {
        const again = error instanceof kafkajs.KafkaJSError && error.retriable
        if (!again || tries === deleteRecordsTriesMax) throw error
        await delay(deleteRecordsAgainMs)
      }
    }
  } finally {
    await admin.disconnect()
  }
}
