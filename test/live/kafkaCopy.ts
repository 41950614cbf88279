import type { Address } from '../../engine/adapters/kafka/cluster.ts'
import type { Caps } from '../../engine/adapters/kafka/decide/chooseVersions.ts'
import { plainSecurity, type Security } from '../../engine/adapters/kafka/login.ts'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { type KafkaCounts, openKafka } from '../../engine/adapters/kafka/openKafka.ts'
import type { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { encode } from '../../engine/batch/encode.ts'
import { type CodecName, nextOffset, readHeader } from '../../engine/batch/header.ts'
import { type KafkaRecord, records } from '../../engine/batch/records.ts'
import type { Batch, KafkaCluster, Part, TopicId } from '../../engine/ports/kafka.ts'

export type Opened = KafkaCluster & { counts(): KafkaCounts }
export const clock = machineClock()

/** The adapter on one of the rig's clusters. */
export function openCluster(
  name: string,
  bootstrap: string,
  account: MemoryAccount,
  more: { security?: Security; caps?: Caps; clientId?: string; addresses?: Map<string, Address> } = {},
): Opened {
  const { clientId = 'millrace', addresses = new Map() } = more
  const config = { name, brokers: addressesOf(bootstrap), clientId, addresses }
  const parts = { account, clock, chance: Math.random, ...(more.caps ? { caps: more.caps } : {}) }
  return openKafka({ ...config, security: more.security ?? plainSecurity }, parts)
}

export function addressesOf(bootstrap: string): Address[] {
  return bootstrap.split(',').map(one => {
    const [host = '', port] = one.split(':')
    return { host, port: Number(port) }
  })
}

/** A batch that a flow made from nothing: outside the account (W-72). */
export function loose(bytes: Buffer): Batch {
  return { header: readHeader(bytes), bytes, tailCrc: null, retain() {}, release() {} }
}

/** One batch of numbered records: the value begins with the number, padded with half-compressible text. */
export function numbered(first: number, count: number, how: { codec?: CodecName; bytes?: number } = {}): Buffer {
  const made = Array.from({ length: count }, (_, i) => numberedRecord(first + i, how.bytes ?? 100))
  return encode(made, { codec: how.codec ?? 'lz4', transactional: false }, codec, crc32c)
}

function numberedRecord(number: number, bytes: number): Omit<KafkaRecord, 'offset'> {
  const value = Buffer.alloc(bytes, `${number} ${(number * 2654435761) % 4294967296} `)
  return { timestamp: 1_700_000_000_000n + BigInt(number), key: Buffer.from(`key ${number}`), value, headers: [] }
}

function numberOf(record: KafkaRecord): number {
  return Number.parseInt(record.value?.toString('latin1', 0, 20) ?? '', 10)
}

/** Writes batches to a partition and waits until all are acknowledged; rejects with any other outcome. */
export async function write(to: Opened, part: Part, batches: Buffer[]): Promise<void> {
  const bad = Promise.withResolvers<never>()
  const lane = to.sink.open<number>(
    { ...part, topicId: '' },
    () => true,
    outcome => {
      if (outcome.is !== 'acked') bad.reject(new Error(`not written: ${JSON.stringify(outcome)}`))
    },
  )
  for (const [i, bytes] of batches.entries()) lane.send(loose(bytes), i)
  try {
    await Promise.race([lane.idle(AbortSignal.timeout(60_000)), bad.promise])
  } finally {
    lane.close(false)
  }
}

export async function topicIdOf(cluster: Opened, topic: string): Promise<TopicId> {
  const { topics } = await cluster.admin.look([topic])
  return topics[0]?.topicId ?? ''
}

export async function endOf(cluster: Opened, part: Part): Promise<bigint> {
  const [found] = await cluster.admin.offsets([part], 'end')
  return found?.offset ?? -1n
}

/** A copy of one partition by a stream and a lane, as a unit does it. */
export type Copy = {
  /** Outcomes that were not `acked`, and answers that were not `batches`. */
  odd: unknown[]
  /** Source offsets up to which the destination has everything. */
  ackedTo: bigint
  /** Called after each outcome and each odd answer. */
  tell: () => void
  /** Ends when `ackedTo` is there, or something odd came. */
  until(offset: bigint): Promise<void>
  stream: { trouble(): unknown }
  lane: { trouble(): unknown }
  /** Stops reading, waits for what is under way, closes. */
  end(): Promise<void>
}

export function startCopy(
  from: Opened,
  to: Opened,
  how: { part: Part & { topicId: TopicId }; to: Part; at?: bigint; mayWrite?: () => boolean },
): Copy {
  const stop = new AbortController()
  const stream = from
    .source({ isolation: 'read_committed', rack: null })
    .open(how.part, { offset: how.at ?? 0n, epoch: -1 })
  const waiting: (() => void)[] = []
  const lane = to.sink.open<bigint>({ ...how.to, topicId: '' }, how.mayWrite ?? (() => true), outcome => {
    if (outcome.is === 'acked') copy.ackedTo = outcome.tag
    else copy.odd.push(outcome)
    copy.tell()
  })
  const copy: Copy = {
    odd: [],
    ackedTo: how.at ?? 0n,
    tell() {
      for (const look of waiting) look()
    },
    until: offset =>
      new Promise(resolve => {
        const look = () => {
          if (copy.ackedTo >= offset || copy.odd.length > 0) resolve()
        }
        waiting.push(look)
        look()
      }),
    stream,
    lane,
    async end() {
      stop.abort()
      await pumping
      if (copy.odd.length === 0) await lane.idle(AbortSignal.timeout(60_000))
      stream.close()
      lane.close(false)
    },
  }
  const pump = async () => {
    while (!stop.signal.aborted) {
      const answer = await stream.next(stop.signal).catch(() => null)
      if (answer === null) return
      if (answer.is !== 'batches') {
        copy.odd.push(answer)
        copy.tell()
        return
      }
      for (const batch of answer.batches) {
        lane.send(batch, nextOffset(batch.header))
        batch.release()
      }
    }
  }
  const pumping = pump()
  return copy
}

/** Copies whole partitions up to their present end. Gives what was odd, empty when all went well. */
export async function copyAll(
  from: Opened,
  to: Opened,
  topic: string,
  partitions: number,
  as = topic,
): Promise<unknown[]> {
  const topicId = await topicIdOf(from, topic)
  const odd = await Promise.all(
    Array.from({ length: partitions }, async (_, partition) => {
      const end = await endOf(from, { topic, partition })
      const copy = startCopy(from, to, { part: { topic, partition, topicId }, to: { topic: as, partition } })
      await copy.until(end)
      await copy.end()
      return copy.odd
    }),
  )
  return odd.flat()
}

/** The batches of a partition up to its present end, copied out. */
export async function batchesOf(cluster: Opened, part: Part): Promise<Buffer[]> {
  const end = await endOf(cluster, part)
  const topicId = await topicIdOf(cluster, part.topic)
  const stream = cluster
    .source({ isolation: 'read_uncommitted', rack: null })
    .open({ ...part, topicId }, { offset: 0n, epoch: -1 })
  const found: Buffer[] = []
  for (let next = 0n; next < end; ) {
    const answer = await stream.next(AbortSignal.timeout(60_000))
    if (answer.is !== 'batches') throw new Error(`not read: ${answer.is}`)
    for (const batch of answer.batches) {
      found.push(Buffer.from(batch.bytes))
      next = nextOffset(batch.header)
      batch.release()
    }
  }
  stream.close()
  return found
}

export async function recordsOf(cluster: Opened, part: Part): Promise<KafkaRecord[]> {
  const batches = await batchesOf(cluster, part)
  return batches.flatMap(bytes => records({ header: readHeader(bytes), bytes }, codec))
}

/** The numbers of `numbered` records in a partition, in the order of the log. */
export async function numbersOf(cluster: Opened, part: Part): Promise<number[]> {
  return (await recordsOf(cluster, part)).map(numberOf)
}

/** 0, 1, 2, …: what `numbersOf` gives when nothing was lost, doubled or turned round. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
}
