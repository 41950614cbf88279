import { nextOffset } from '../../engine/batch/header.ts'
import type { Part } from '../../engine/ports/kafka.ts'
import { batchOf, marker, valuesOf } from '../fakes/kafka/batches.ts'
import type { FakeKafka } from '../fakes/kafka/cluster.ts'

/** What became of a record at the source after it was written. */
export type Fate = 'there' | 'aborted' | 'cut' | 'trimmed' | 'topic gone'
export type Entry = { id: number; offset: bigint; fate: Fate; topicId: string }

export type Ledger = {
  write(part: Part, records: number): void
  /** A whole transaction of one producer, with its marker. */
  transaction(part: Part, commit: boolean): void
  /** Cuts so many batches off the end. */
  truncate(part: Part, batches: number): void
  /** Deletes so many batches from the start. */
  trim(part: Part, batches: number): void
  recreate(): void
  of(partition: number): Entry[]
  /** Numbers of the records in a partition of another cluster, each where it comes first. */
  firstOccurrences(cluster: FakeKafka, partition: number): number[]
}

/** Writes numbered records to a topic, and keeps account of what must arrive. */
export function ledger(source: FakeKafka, topic: string, partitions: number): Ledger {
  const books: Entry[][] = Array.from({ length: partitions }, () => [])
  const book = (part: Part) => books[part.partition] as Entry[]
  let nextId = 1
  let producerId = 5_000n

  const append = (part: Part, count: number, how: { producerId?: bigint; transactional?: boolean }, fate: Fate) => {
    const ids = Array.from({ length: count }, () => nextId++)
    const base = source.write(part, batchOf(ids.map(String), how))
    const topicId = source.topicIdOf(topic)
    ids.forEach((id, i) => void book(part).push({ id, offset: base + BigInt(i), fate, topicId }))
  }
  const doom = (part: Part, fate: Fate, which: (offset: bigint) => boolean) => {
    for (const entry of book(part)) if (entry.fate === 'there' && which(entry.offset)) entry.fate = fate
  }
  return {
    write: (part, records) => append(part, records, {}, 'there'),
    transaction(part, commit) {
      producerId++
      for (let i = 0; i < 2; i++) append(part, 2, { producerId, transactional: true }, commit ? 'there' : 'aborted')
      append(part, 1, {}, 'there')
      source.log(part).endTransaction(marker(producerId, commit), commit)
    },
    truncate(part, batches) {
      const { batches: kept, logStart } = source.log(part)
      // Transactions are cut whole: a broker would write the marker again.
      let at = Math.max(0, kept.length - batches)
      while (at > 0 && kept[at] && inTransaction(kept, at)) at--
      const to = kept[at]?.header.baseOffset
      if (to === undefined || to < logStart) return
      source.truncate(part, to)
      doom(part, 'cut', offset => offset >= to)
    },
    trim(part, batches) {
      const { batches: kept } = source.log(part)
      const last = kept[Math.min(batches, kept.length) - 1]
      if (!last) return
      const to = nextOffset(last.header)
      source.trimTo(part, to)
      doom(part, 'trimmed', offset => offset < to)
    },
    recreate() {
      source.recreateTopic(topic)
      for (let partition = 0; partition < partitions; partition++) doom({ topic, partition }, 'topic gone', () => true)
    },
    of: partition => books[partition] as Entry[],
    firstOccurrences(cluster, partition) {
      const values = cluster.log({ topic, partition }).batches.flatMap(valuesOf)
      return [...new Set(values.map(Number))]
    },
  }
}

/** Does the batch at `at` lie behind the first and not behind the marker of a transaction? */
function inTransaction(kept: { header: { attributes: number; producerId: bigint } }[], at: number): boolean {
  const { producerId } = kept[at]?.header ?? { producerId: -1n }
  const before = kept.slice(Math.max(0, at - 4), at)
  const marked = kept.slice(at, at + 4).find(one => one.header.attributes & 0x20)
  const open = marked?.header.producerId ?? producerId
  return open >= 0n && before.some(one => one.header.producerId === open)
}
