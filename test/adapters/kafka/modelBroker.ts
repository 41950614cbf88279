/** A batch as a broker sees it: whose it is, and what must come out of the log. */
export type Written = { producerId: number; sequence: number; content: readonly number[] }
type Kept = { first: number; last: number; offset: number; content: readonly number[] }

const sequences = 2 ** 31

/** How Kafka's `ProducerStateManager` and log take the batches of one partition. */
export function modelPartition() {
  const records: number[] = []
  const producers = new Map<number, Kept[]>()
  return {
    /** Every record, in the order of offsets. */
    records,
    /** Repeats that were acknowledged for a batch of another content: each is a lost batch. */
    mistaken: [] as Written[],
    forget: () => producers.clear(),

    /** 0 or 45. A repeat of one of the last five batches gets 0; an unknown producer may begin anywhere. */
    append(batch: Written): 0 | 45 {
      const first = batch.sequence
      const last = (first + batch.content.length - 1) % sequences
      const known = producers.get(batch.producerId) ?? []
      const repeat = known.find(kept => kept.first === first && kept.last === last)
      if (repeat) {
        if (repeat.content.join() !== batch.content.join()) this.mistaken.push(batch)
        return 0
      }
      const newest = known.at(-1)
      if (newest && (newest.last + 1) % sequences !== first) return 45
      const kept = { first, last, offset: records.length, content: batch.content }
      producers.set(batch.producerId, [...known, kept].slice(-5))
      records.push(...batch.content)
      return 0
    },
  }
}

export type ModelPartition = ReturnType<typeof modelPartition>
