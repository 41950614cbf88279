/** What was done at the source in a run: the truth that the destination is held against. Numbers are dense from 0. */
export type Trim = {
  /** The first number that was left. */
  before: number
  /** The flow had a checkpoint of this incarnation's partition: what is missing must be told (M-71). */
  wasStarted: boolean
}
export type PartLedger = {
  /** Sent to the source, and acknowledged by it: numbers below these. */
  sent: number
  acked: number
  trims: Trim[]
}
/** One life of a topic, from its creation to its deletion; `number` counts them over the whole run. */
export type Incarnation = {
  number: number
  topic: string
  topicId: string
  parts: PartLedger[]
  /** Milliseconds since 1970. */
  createdMs: number
  deletedMs: number | null
}

const partitionsMax = 64
const perPartition = 2 ** 32

/** The value of a record says whose it is: below 2⁵³ for 32,768 incarnations of at most 64 partitions. */
export function numberOf(incarnation: number, partition: number, sequence: number): number {
  return (incarnation * partitionsMax + partition) * perPartition + sequence
}

export function whoseNumber(number: number): { incarnation: number; partition: number; sequence: number } {
  const whose = Math.floor(number / perPartition)
  return {
    incarnation: Math.floor(whose / partitionsMax),
    partition: whose % partitionsMax,
    sequence: number % perPartition,
  }
}
