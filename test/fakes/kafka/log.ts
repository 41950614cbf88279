import { Buffer } from 'node:buffer'
import { crc32c } from '../../../engine/adapters/kafka/native.ts'
import { at, control, type Header, nextOffset, readHeader, transactional } from '../../../engine/batch/header.ts'
import { type AppendAnswer, Producers } from './producers.ts'

/** One batch at rest: base offset and leader epoch are the log's. */
export type Kept = { header: Header; bytes: Buffer }
export type ReadAnswer =
  | { is: 'read'; batches: Buffer[]; aborted: { producerId: bigint; firstOffset: bigint }[] }
  | { is: 'out-of-range' }
  | { is: 'diverging'; epoch: number; endOffset: bigint }

/** A log without end for back-pressure tests: the same bytes again and again, only the offset differs. */
const endlessEnd = 1_000_000_000_000n

/** One partition as a broker keeps it: raw batches, leader epochs, transactions, idempotent producers. */
export class FakeLog {
  logStart = 0n
  epoch = 0
  batchBytesMax = 128 * 1024 * 1024
  readonly batches: Kept[] = []
  /** First offset of each leader epoch. */
  readonly #epochs: { epoch: number; start: bigint }[] = [{ epoch: 0, start: 0n }]
  readonly #producers = new Producers()
  readonly #open = new Map<bigint, bigint>()
  readonly #aborted: { producerId: bigint; firstOffset: bigint; lastOffset: bigint }[] = []
  readonly #watchers = new Set<() => void>()
  #end = 0n
  #endless: Buffer | null = null
  /** Reads of this batch give damaged bytes, so many times. */
  #corrupt: { from: bigint; found: bigint | null; times: number } | null = null

  get end(): bigint {
    if (this.#endless) return endlessEnd
    return this.#end
  }

  get lastStable(): bigint {
    let first = this.end
    for (const from of this.#open.values()) if (from < first) first = from
    return first
  }

  /** What a Produce request does; 0 with the base offset, or Kafka's error number. */
  produce(bytes: Buffer): AppendAnswer {
    const header = readHeader(bytes)
    if (bytes.length !== header.bytes || header.magic !== 2) return { error: 87, baseOffset: -1n }
    if (crc32c(bytes.subarray(at.attributes)) !== header.crc) return { error: 2, baseOffset: -1n }
    if (header.baseOffset !== 0n || header.lastOffsetDelta + 1 !== header.recordsCount)
      return { error: 87, baseOffset: -1n }
    if (bytes.length > this.batchBytesMax) return { error: 10, baseOffset: -1n }
    const answer = this.#producers.take(header, this.end)
    if (answer.error === 0 && answer.baseOffset === this.end) this.append(bytes)
    return answer
  }

  /** Writes a batch as it is, but for base offset and leader epoch; gives its base offset. */
  append(bytes: Buffer): bigint {
    const kept = Buffer.from(bytes)
    const base = this.end
    kept.writeBigInt64BE(base, at.baseOffset)
    kept.writeInt32BE(this.epoch, at.partitionLeaderEpoch)
    const header = readHeader(kept)
    this.batches.push({ header, bytes: kept })
    this.#end = nextOffset(header)
    if (header.attributes & transactional && !(header.attributes & control) && !this.#open.has(header.producerId))
      this.#open.set(header.producerId, base)
    this.#tell()
    return base
  }

  /** The marker that ends a producer's transaction. */
  endTransaction(marker: Buffer, commit: boolean): void {
    const { producerId } = readHeader(marker)
    const base = this.append(marker)
    const firstOffset = this.#open.get(producerId)
    this.#open.delete(producerId)
    if (!commit && firstOffset !== undefined) this.#aborted.push({ producerId, firstOffset, lastOffset: base })
    this.#tell()
  }

  /** From now on every read gives this batch, as often as it fits. */
  endless(batch: Buffer): void {
    this.#endless = batch
    this.#tell()
  }

  /** A tail is lost: a new leader, whose log ends at `to` (or before it, with the last whole batch). */
  truncate(to: bigint): void {
    for (let last = this.batches.at(-1); last && nextOffset(last.header) > to; last = this.batches.at(-1)) {
      this.batches.pop()
      this.#end = last.header.baseOffset
    }
    for (const [id, first] of this.#open) if (first >= to) this.#open.delete(id)
    this.#producers.truncate(to)
    while ((this.#epochs.at(-1)?.start ?? -1n) > this.end) this.#epochs.pop()
    this.newEpoch()
  }

  newEpoch(): void {
    this.epoch++
    if (this.#epochs.at(-1)?.start === this.end) this.#epochs.pop()
    this.#epochs.push({ epoch: this.epoch, start: this.end })
    this.#tell()
  }

  /** Records below `offset` are deleted. */
  trimTo(offset: bigint): void {
    if (offset <= this.logStart) return
    this.logStart = offset
    if (this.end < offset) throw new Error(`the log ends at ${this.end}, it cannot start at ${offset}`)
    while (this.batches.length > 1 && nextOffset((this.batches[0] as Kept).header) <= offset) this.batches.shift()
    this.#tell()
  }

  /** The next batch at or after `offset` comes damaged, so many times. */
  corruptFrom(offset: bigint, times: number): void {
    this.#corrupt = { from: offset, found: null, times }
  }

  /** Calls `tell` on every change. */
  watch(tell: () => void): () => void {
    this.#watchers.add(tell)
    return () => this.#watchers.delete(tell)
  }

  /**
   * What a Fetch gets: the batch that holds `offset` and those after it, cut at `bytesMax` as a broker cuts, but the
   * first one whole when `whole`. `peek`: only whether there is something; no vice is used up.
   */
  read(how: {
    offset: bigint
    lastFetchedEpoch: number
    committed: boolean
    bytesMax: number
    whole: boolean
    peek: boolean
  }): ReadAnswer {
    const diverging = this.#diverging(how.offset, how.lastFetchedEpoch)
    if (diverging) return diverging
    if (how.offset < this.logStart || how.offset > this.end) return { is: 'out-of-range' }
    if (this.#endless && how.peek) return { is: 'read', batches: [this.#endless], aborted: [] }
    if (this.#endless) return { is: 'read', batches: this.#repeated(this.#endless, how), aborted: [] }
    const end = how.committed ? this.lastStable : this.end
    const found: Buffer[] = []
    let bytes = 0
    let last = how.offset
    for (let i = this.#indexOf(how.offset); i < this.batches.length; i++) {
      const kept = this.batches[i] as Kept
      if (kept.header.baseOffset >= end) break
      const room = how.bytesMax - bytes
      const must = how.whole && found.length === 0
      if (room <= 0 && !must) break
      const given = how.peek ? kept.bytes : this.#given(kept)
      found.push(must ? given : given.subarray(0, room))
      bytes += given.length
      last = nextOffset(kept.header)
    }
    return { is: 'read', batches: found, aborted: how.committed ? this.#abortedIn(how.offset, last) : [] }
  }

  #indexOf(offset: bigint): number {
    let low = 0
    let high = this.batches.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (nextOffset((this.batches[middle] as Kept).header) <= offset) low = middle + 1
      else high = middle
    }
    return low
  }

  #given(kept: Kept): Buffer {
    const vice = this.#corrupt
    const { baseOffset } = kept.header
    if (vice === null || (vice.found === null ? baseOffset < vice.from : baseOffset !== vice.found)) return kept.bytes
    vice.found = baseOffset
    vice.times--
    if (vice.times === 0) this.#corrupt = null
    const damaged = Buffer.from(kept.bytes)
    const middle = (at.recordsCount + damaged.length) >> 1
    damaged[middle] = (damaged[middle] as number) ^ 1
    return damaged
  }

  #repeated(batch: Buffer, how: { offset: bigint; bytesMax: number; whole: boolean }): Buffer[] {
    const count = BigInt(readHeader(batch).lastOffsetDelta + 1)
    const found: Buffer[] = []
    let base = how.offset - (how.offset % count)
    for (let room = how.bytesMax; room >= batch.length || (how.whole && found.length === 0); room -= batch.length) {
      const one = Buffer.from(batch)
      one.writeBigInt64BE(base, at.baseOffset)
      one.writeInt32BE(this.epoch, at.partitionLeaderEpoch)
      found.push(one)
      base += count
    }
    return found
  }

  #abortedIn(from: bigint, to: bigint): { producerId: bigint; firstOffset: bigint }[] {
    return this.#aborted.filter(a => a.lastOffset >= from && a.firstOffset < to)
  }

  /** KIP-595: where the log of the reader and ours part. */
  #diverging(offset: bigint, lastFetchedEpoch: number): ReadAnswer | null {
    if (lastFetchedEpoch < 0) return null
    const { epoch, endOffset } = this.#endOf(lastFetchedEpoch)
    if (epoch < 0) return { is: 'out-of-range' }
    if (epoch < lastFetchedEpoch || endOffset < offset) return { is: 'diverging', epoch, endOffset }
    return null
  }

  #endOf(epoch: number): { epoch: number; endOffset: bigint } {
    if (epoch === this.epoch) return { epoch, endOffset: this.end }
    const next = this.#epochs.find(e => e.epoch > epoch)
    if (!next) return { epoch: -1, endOffset: -1n }
    const floor = this.#epochs.findLast(e => e.epoch <= epoch)
    const known = floor ? floor.epoch : epoch
    // Deleting records moves the first epoch's start up to the log's.
    if (next.start < this.logStart) return { epoch: known, endOffset: this.logStart }
    return { epoch: known, endOffset: next.start }
  }

  #tell(): void {
    for (const tell of [...this.#watchers]) tell()
  }
}
