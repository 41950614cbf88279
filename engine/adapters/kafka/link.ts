import { Buffer } from 'node:buffer'
import { MillraceError } from '../../errors.ts'
import { frameBytesMax, readScratchBytes } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Api } from './frames/api.ts'
import { type Lease, type MemoryAccount, uncounted } from './slab.ts'
import { Reader } from './wire.ts'

/** What a link needs of a socket; a test may hand in less than a real one. */
export type Wire = {
  cork(): void
  uncork(): void
  write(bytes: Buffer, done?: (error?: Error | null) => void): boolean
  resume(): void
  destroy(): void
  resetAndDestroy?(): void
  /** TLS; Node resets none of these, and throws. */
  encrypted?: boolean
}

/** A response: the decoded answer, and the buffer its bytes are views of. Release it when they are no longer read. */
export type Reply<Answer> = { answer: Answer; frame: Lease }

export type AskHow = {
  timeoutMs: number
  /** Highest version for this request, below the one agreed with the broker. */
  versionMax?: number
  /**
   * Called once, when the kernel has all bytes of the request or will get no more of them, for the link has ended: from
   * then on its parts may move in memory (W-32).
   */
  onWritten?: () => void
}

type Open = {
  api: Api<unknown, unknown>
  version: number
  deadlineMs: number
  resolve(reply: Reply<unknown>): void
  reject(error: MillraceError): void
}

const ApiVersionsKey = 18
const idleTick = 1_000

/**
 * One authenticated connection with its own correlation ids (KAFKA-CLIENT W-10, W-20, W-24, W-30, W-33).
 * `target` and `read` are what the socket's `onread` calls: the kernel writes straight into the frame's own buffer.
 * A link is never used after a fault: its open requests end with `kafka-link-lost`.
 */
export class Link {
  readonly name: string
  /** When the SASL session ends on `clock.nowMs()`; null = never (W-22). */
  readonly sessionEndsAtMs: number | null
  throttledUntilMs = 0
  /** When bytes came last; an answer that still comes in is not late. */
  lastReadMs = Number.NEGATIVE_INFINITY
  #versions = new Map<number, number>()
  readonly #wire: Wire
  readonly #clock: Clock
  readonly #account: MemoryAccount | null
  readonly #clientId: Buffer
  readonly #open = new Map<number, Open>()
  readonly #closed = new Set<(fault: MillraceError | null) => void>()
  readonly #drained: (() => void)[] = []
  readonly #outdated = new Set<() => void>()
  #isOutdated = false
  #correlation = 0
  #ended: MillraceError | null | undefined
  #stopTick: (() => void) | null = null
  #waitingSinceMs: number | null = null
  // Reading: bytes of a frame whose length is not known yet lie in `scratch`, all else in the frame's own buffer.
  readonly #scratch = Buffer.allocUnsafeSlow(readScratchBytes)
  #scratchUsed = 0
  #frame: Lease | null = null
  #frameUsed = 0
  #cancelAsk: (() => void) | null = null
  /** What `target` gave last, and whether the kernel still writes there although the target has moved. */
  #given: Buffer = this.#scratch
  #spare: Buffer | null = null
  /** What came while a frame waited for room. */
  readonly #late: Buffer[] = []
  #moved = false
  readonly counts = { reads: 0, copiedBytes: 0, frames: 0 }
  readonly #onThrottle: (ms: number) => void
  readonly #unsent: () => number

  /** `account`: the memory account for fetch links; null for `send` and `control`. */
  constructor(
    wire: Wire,
    how: {
      name: string
      clientId: string
      clock: Clock
      account: MemoryAccount | null
      sessionEndsAtMs?: number | null
      onThrottle?: (ms: number) => void
      /** Bytes that the kernel has not taken yet of what it was given; it may be less than what waits to be given. */
      unsentBytes?: () => number
    },
  ) {
    this.#wire = wire
    this.name = how.name
    this.#clock = how.clock
    this.#account = how.account
    this.#clientId = Buffer.from(how.clientId)
    this.sessionEndsAtMs = how.sessionEndsAtMs ?? null
    this.#onThrottle = how.onThrottle ?? (() => {})
    this.#unsent = how.unsentBytes ?? (() => 0)
  }

  /** Requests without an answer yet. */
  get open(): number {
    return this.#open.size
  }

  /** Changes as the kernel takes what is written, also in the middle of a request. */
  get unsentBytes(): number {
    return this.#unsent()
  }

  get alive(): boolean {
    return this.#ended === undefined
  }

  /** The versions agreed by ApiVersions (W-12): API key → version. */
  agree(versions: Map<number, number>): void {
    this.#versions = versions
  }

  version(key: number): number | null {
    return this.#versions.get(key) ?? null
  }

  /** Calls `tell` once when the link ends: with the fault, or null when we closed it. */
  onClose(tell: (fault: MillraceError | null) => void): void {
    if (this.#ended !== undefined) tell(this.#ended)
    else this.#closed.add(tell)
  }

  /** Calls `tell` once when the credentials that the link was logged in with are no longer the newest (K-55). */
  onOutdated(tell: () => void): void {
    if (this.#isOutdated) tell()
    else this.#outdated.add(tell)
  }

  outdated(): void {
    this.#isOutdated = true
    for (const tell of this.#outdated) tell()
    this.#outdated.clear()
  }

  /** Ends when no request is open. */
  drained(): Promise<void> {
    return this.#open.size === 0 ? Promise.resolve() : new Promise(resolve => this.#drained.push(resolve))
  }

  /** Writes the request in this very turn (W-70). Rejects with a MillraceError. */
  ask<Question, Answer>(api: Api<Question, Answer>, question: Question, how: AskHow): Promise<Reply<Answer>> {
    const agreed = api.key === ApiVersionsKey ? api.max : this.#versions.get(api.key)
    if (this.#ended !== undefined || agreed === undefined) {
      how.onWritten?.()
      const why = this.#ended === undefined ? noVersion(this.name, api) : this.#ended
      return Promise.reject(why ?? lost(this.name, 'it was closed'))
    }
    const version = Math.min(agreed, how.versionMax ?? agreed)
    const parts = api.encode(version, question)
    const correlation = this.#correlation
    this.#correlation = (correlation + 1) & 0x7fffffff
    const head = requestHead(api.key, version, correlation, this.#clientId, parts)
    return new Promise<Reply<Answer>>((resolve, reject) => {
      this.#open.set(correlation, {
        api: api as Api<unknown, unknown>,
        version,
        // A throttled broker is silent anyway (W-25).
        deadlineMs: Math.max(this.#clock.nowMs(), this.throttledUntilMs) + how.timeoutMs,
        resolve: resolve as (reply: Reply<unknown>) => void,
        reject,
      })
      this.#tick()
      this.#wire.cork()
      this.#wire.write(head)
      const last = parts.length - 1
      for (let i = 0; i < last; i++) this.#wire.write(parts[i] as Buffer)
      this.#wire.write(parts[last] as Buffer, () => how.onWritten?.())
      this.#wire.uncork()
    })
  }

  /** Where the kernel writes next; never empty, for Node takes that for a fault (`ENOBUFS`). */
  target(): Buffer {
    this.#moved = false
    this.#given = this.#cancelAsk ? this.#spareBuffer() : this.#place()
    return this.#given
  }

  /** `bytes` have been written to `target()`. False: the socket is not to be read until `resume` (W-31). */
  read(bytes: number): boolean {
    this.counts.reads++
    this.lastReadMs = this.#clock.nowMs()
    if (this.#cancelAsk) {
      // TLS gives what it has deciphered already, although the socket is paused.
      this.#late.push(Buffer.from(this.#given.subarray(0, bytes)))
      return false
    }
    return this.#moved ? this.#feed(Buffer.from(this.#given.subarray(0, bytes))) : this.#took(bytes)
  }

  #place(): Buffer {
    return this.#frame ? this.#frame.bytes.subarray(this.#frameUsed) : this.#scratch.subarray(this.#scratchUsed)
  }

  /** While a frame waits for room the scratch may be full. */
  #spareBuffer(): Buffer {
    this.#spare ??= Buffer.allocUnsafeSlow(readScratchBytes)
    return this.#spare
  }

  /**
   * Takes bytes that lie elsewhere. Node asks for the next target when it has given the last read, so before a pause it
   * was told the spare one; then room came, the frame got its own buffer, reading went on: the first read after the
   * pause still lies where nobody looks for it.
   */
  #feed(bytes: Buffer): boolean {
    this.#moved = false
    for (let from = 0; from < bytes.length && this.#ended === undefined; ) {
      const copied = bytes.copy(this.#place(), 0, from)
      from += copied
      this.counts.copiedBytes += copied
      if (this.#took(copied)) continue
      if (from < bytes.length) this.#late.unshift(bytes.subarray(from))
      return false
    }
    return this.#ended === undefined
  }

  #took(bytes: number): boolean {
    if (this.#frame) {
      this.#frameUsed += bytes
      if (this.#frameUsed === this.#frame.bytes.length) this.#whole(this.#frame)
      return true
    }
    this.#scratchUsed += bytes
    return this.#sift(0)
  }

  /** The socket has ended or failed. */
  failed(why: string, hint: string | null = null): void {
    this.end(lost(this.name, why, hint))
  }

  /** Ends the link as lost, and has the broker read no more of it. */
  reset(why: string): void {
    this.end(lost(this.name, why), true)
  }

  /** Closes when the open requests have ended. */
  async close(): Promise<void> {
    await this.drained()
    this.end(null)
  }

  /** Closes at once; open requests end with `fault`. `reset`: with RST, so that the broker reads no more of it (W-70). */
  end(fault: MillraceError | null, reset = false): void {
    if (this.#ended !== undefined) return
    this.#ended = fault
    if (reset && this.#wire.resetAndDestroy && !this.#wire.encrypted) this.#wire.resetAndDestroy()
    else this.#wire.destroy()
    this.#stopTick?.()
    this.#cancelAsk?.()
    this.#frame?.release()
    this.#frame = null
    this.#late.length = 0
    const why = fault ?? lost(this.name, 'it was closed')
    for (const request of this.#open.values()) request.reject(why)
    this.#open.clear()
    for (const resolve of this.#drained.splice(0)) resolve()
    for (const tell of this.#closed) tell(fault)
    this.#closed.clear()
  }

  /** Takes whole frames out of the scratch from byte `from` on; a frame that goes on gets its own buffer. */
  #sift(from: number): boolean {
    let at = from
    while (this.#scratchUsed - at >= 4 && this.#ended === undefined) {
      const length = this.#scratch.readInt32BE(at)
      if (length < 4 || length > frameBytesMax) {
        this.failed(`a frame of ${length} bytes was announced`)
        return false
      }
      const asked = this.#account
        ? this.#account.ask(length, lease => this.#roomFor(lease))
        : { lease: uncounted(length) }
      if ('cancel' in asked) {
        this.#keep(at)
        this.#cancelAsk = asked.cancel
        this.#waitingSinceMs = this.#clock.nowMs()
        return false
      }
      at = this.#begin(asked.lease, at)
    }
    this.#keep(at)
    return true
  }

  /** Copies what of the frame has come with its length; gives the first byte behind it. */
  #begin(lease: Lease, at: number): number {
    const length = lease.bytes.length
    const there = Math.min(this.#scratchUsed - at - 4, length)
    this.#scratch.copy(lease.bytes, 0, at + 4, at + 4 + there)
    this.counts.copiedBytes += there
    this.#frame = lease
    this.#frameUsed = there
    if (there === length) this.#whole(lease)
    return at + 4 + there
  }

  #keep(from: number): void {
    if (from > 0 && from < this.#scratchUsed) this.#scratch.copyWithin(0, from, this.#scratchUsed)
    this.#scratchUsed -= from
  }

  #roomFor(lease: Lease): void {
    this.#cancelAsk = null
    if (this.#ended !== undefined) {
      lease.release()
      return
    }
    const waited = this.#clock.nowMs() - (this.#waitingSinceMs ?? this.#clock.nowMs())
    this.#waitingSinceMs = null
    for (const request of this.#open.values()) request.deadlineMs += waited
    let open = this.#sift(this.#begin(lease, 0))
    for (let late = this.#late.shift(); late; late = this.#late.shift()) {
      if (open) open = this.#feed(late)
      else {
        this.#late.unshift(late)
        break
      }
    }
    this.#moved = true
    if (open) this.#wire.resume()
  }

  #whole(frame: Lease): void {
    this.#frame = null
    this.counts.frames++
    const correlation = frame.bytes.readInt32BE(0)
    const request = this.#open.get(correlation)
    if (!request) {
      frame.release()
      this.failed(`it answered request ${correlation}, which is not open`)
      return
    }
    let answer: unknown
    try {
      answer = request.api.decode(request.version, bodyOf(request.api.key, frame.bytes))
    } catch (cause) {
      frame.release()
      this.end(badAnswer(this.name, request.api.name, cause))
      return
    }
    this.#open.delete(correlation)
    this.#throttle(answer)
    request.resolve({ answer, frame })
    if (this.#open.size === 0) for (const resolve of this.#drained.splice(0)) resolve()
  }

  /** W-25: nothing more on this link for so long; time-outs do not run meanwhile. */
  #throttle(answer: unknown): void {
    const ms = (answer as { throttleMs?: number } | null)?.throttleMs ?? 0
    if (ms <= 0) return
    this.#onThrottle(ms)
    this.throttledUntilMs = Math.max(this.throttledUntilMs, this.#clock.nowMs() + ms)
    for (const request of this.#open.values()) request.deadlineMs += ms
  }

  /** One timer a link, and only while a request is open. */
  #tick(): void {
    if (this.#stopTick) return
    this.#stopTick = this.#clock.after(idleTick, () => {
      this.#stopTick = null
      if (this.#ended !== undefined || this.#open.size === 0) return
      const now = this.#clock.nowMs()
      const late = this.#waitingSinceMs === null && [...this.#open.values()].find(o => o.deadlineMs <= now)
      if (late) this.failed(`no answer to ${late.api.name} in time`)
      else this.#tick()
    })
  }
}

/** W-10: header of a request, with an empty tag section. */
function requestHead(key: number, version: number, correlation: number, clientId: Buffer, parts: Buffer[]): Buffer {
  const head = Buffer.allocUnsafe(15 + clientId.length)
  let bytes = head.length - 4
  for (const part of parts) bytes += part.length
  head.writeInt32BE(bytes, 0)
  head.writeInt16BE(key, 4)
  head.writeInt16BE(version, 6)
  head.writeInt32BE(correlation, 8)
  head.writeInt16BE(clientId.length, 12)
  clientId.copy(head, 14)
  head[14 + clientId.length] = 0
  return head
}

/** The body starts after the correlation id and the header's tags, which ApiVersions never has (W-10). */
function bodyOf(key: number, frame: Buffer): Buffer {
  if (key === ApiVersionsKey) return frame.subarray(4)
  if (frame[4] === 0) return frame.subarray(5)
  const tags = new Reader(frame, 4)
  tags.tags()
  return frame.subarray(tags.at)
}

function lost(name: string, why: string, hint: string | null = null): MillraceError {
  return new MillraceError('kafka-link-lost', `${name}: the link was lost: ${why}`, { retryable: true, hint })
}

function badAnswer(name: string, api: string, cause: unknown): MillraceError {
  return new MillraceError('kafka-protocol', `${name}: the answer to ${api} cannot be read: ${String(cause)}`, {
    retryable: true,
    cause,
  })
}

function noVersion(name: string, api: { name: string; min: number; max: number }): MillraceError {
  return new MillraceError(
    'kafka-version-unsupported',
    `${name}: the broker speaks no version of ${api.name} that we speak (${api.min}–${api.max})`,
  )
}
