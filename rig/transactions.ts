import kafkajs from 'kafkajs'
import type { Part } from '../engine/ports/kafka.ts'
import type { SampleHow } from './samples.ts'
import { seeded } from './seeded.ts'
import { type SampleRecord, variedRecord } from './variedRecord.ts'

export type TransactionsHow = SampleHow & { committed: number; aborted: number; recordsPerTransaction: number }

/** A transaction that is under way: one batch a `send`. */
export type OpenTransaction = {
  send(records: SampleRecord[]): Promise<void>
  commit(): Promise<void>
  abort(): Promise<void>
}
/** A transactional producer of kafkajs: not our own client, so that both are tested. */
export type TransactionalProducer = { begin(): Promise<OpenTransaction>; close(): Promise<void> }

export async function transactionalProducer(bootstrap: string, to: Part, id: string): Promise<TransactionalProducer> {
  const kafka = new kafkajs.Kafka({ brokers: bootstrap.split(','), logLevel: kafkajs.logLevel.NOTHING })
  const producer = kafka.producer({
    transactionalId: id,
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  })
  await producer.connect()
  return {
    async begin() {
      const transaction = await producer.transaction()
      return {
        async send(records) {
          const messages = records.map(record => messageOf(record, to.partition))
          await transaction.send({ topic: to.topic, acks: -1, messages })
        },
        commit: () => transaction.commit(),
        abort: () => transaction.abort(),
      }
    },
    close: () => producer.disconnect(),
  }
}

/** kafkajs keeps doubles of a header together, and can write no null value. */
function messageOf(record: SampleRecord, partition: number): kafkajs.Message {
  const headers: Record<string, Buffer[]> = {}
  for (const { name, value } of record.headers) {
    const values = headers[name.toString()] ?? []
    values.push(value ?? Buffer.alloc(0))
    headers[name.toString()] = values
  }
  return { partition, key: record.key, value: record.value, timestamp: `${record.timestamp}`, headers }
}

/**
 * Two producers, each always in a transaction, write by turns into one partition; `aborted` of the transactions, spread
 * over the run, are aborted. Every transaction is two batches.
 */
export async function writeTransactions(bootstrap: string, to: Part, how: TransactionsHow): Promise<void> {
  const chance = seeded(`${how.seed} ${to.topic}/${to.partition}`)
  const total = how.committed + how.aborted
  const ids = ['one', 'two'].map(name => `${to.topic}-${to.partition}-${name}`)
  const producers = await Promise.all(ids.map(id => transactionalProducer(bootstrap, to, id)))
  const open: (OpenTransaction | null)[] = producers.map(() => null)
  let index = 0
  const made = (count: number) => {
    const varied = { timeMs: how.timeMs, valueBytes: [20, 400] as [number, number] }
    return Array.from({ length: count }, () => variedRecord(chance, index++, varied))
  }
  const half = Math.floor(how.recordsPerTransaction / 2)
  const end = async (turn: number, number: number) => {
    const transaction = open[turn]
    if (!transaction) return
    await transaction.send(made(how.recordsPerTransaction - half))
    await (isAborted(number, total, how.aborted) ? transaction.abort() : transaction.commit())
    open[turn] = null
  }
  try {
    // Transaction n begins before n − 1 of the other producer ends: they always overlap.
    for (let n = 0; n < total; n++) {
      const transaction = (await producers[n % 2]?.begin()) ?? null
      open[n % 2] = transaction
      await transaction?.send(made(half))
      if (n > 0) await end((n - 1) % 2, n - 1)
    }
    await end((total - 1) % 2, total - 1)
  } finally {
    await Promise.all(producers.map(producer => producer.close()))
  }
}

/** Spreads `aborted` evenly over `total`. */
function isAborted(n: number, total: number, aborted: number): boolean {
  return Math.floor(((n + 1) * aborted) / total) > Math.floor((n * aborted) / total)
}
