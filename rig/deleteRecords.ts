import kafkajs from 'kafkajs'
import type { Part } from '../engine/ports/kafka.ts'

/** Kafka's DeleteRecords: the log of the partition starts at `before` then. */
export async function deleteRecords(bootstrap: string, part: Part, before: bigint): Promise<void> {
  const kafka = new kafkajs.Kafka({ brokers: bootstrap.split(','), logLevel: kafkajs.logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  try {
    // It knows no topic that it was not asked for before.
    await admin.fetchTopicOffsets(part.topic)
    await admin.deleteTopicRecords({
      topic: part.topic,
      partitions: [{ partition: part.partition, offset: `${before}` }],
    })
  } finally {
    await admin.disconnect()
  }
}
