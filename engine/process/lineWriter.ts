import { Buffer } from 'node:buffer'
import { write, writeSync } from 'node:fs'
import { logBufferBytesMax, logFlushAtExitMs, logWriteAgainMs, logWriteBytesMax } from '../limits.ts'

/** What was dropped because the reader is too slow: numbers from–to of the lines. */
export type Dropped = { from: number; to: number; lines: number }

/**
 * Writes whole lines to a file descriptor, asynchronously, at most 16 KiB a write and 8 MiB waiting (LOGS L-10). It
 * never blocks the event loop and never throws. What finds no room is dropped and told once there is room again.
 */
export class LineWriter {
  readonly #fd: number
  readonly #onDropped: (dropped: Dropped) => void
  readonly #onBroken: () => void
  #lines: Buffer[] = []
  #bytes = 0
  #writing = false
  #broken = false
  #dropped: Dropped | null = null
  #onDrained = () => {}

  /** `onBroken`: nobody reads any more (EPIPE, EBADF; L-11). */
  constructor(fd: number, on: { dropped: (dropped: Dropped) => void; broken: () => void }) {
    this.#fd = fd
    this.#onDropped = on.dropped
    this.#onBroken = on.broken
  }

  write(line: string, seq: number): void {
    if (this.#broken) return
    const bytes = Buffer.from(`${line}\n`)
    if (this.#bytes + bytes.length > logBufferBytesMax) {
      if (this.#dropped) this.#dropped = { from: this.#dropped.from, to: seq, lines: this.#dropped.lines + 1 }
      else this.#dropped = { from: seq, to: seq, lines: 1 }
      return
    }
    this.#lines.push(bytes)
    this.#bytes += bytes.length
    this.#pump()
  }

  /** Ends when nothing waits any more, or after two seconds (L-12). */
  drained(): Promise<void> {
    if (this.#broken || (!this.#writing && this.#lines.length === 0)) return Promise.resolve()
    return new Promise(resolve => {
      const late = setTimeout(resolve, logFlushAtExitMs)
      this.#onDrained = () => {
        clearTimeout(late)
        resolve()
      }
    })
  }

  /** What waits, now and synchronously, for two seconds at most (L-12). A block that the kernel is being given may come after it. */
  flush(): void {
    const until = Date.now() + logFlushAtExitMs
    for (const line of this.#lines.splice(0)) {
      for (let at = 0; at < line.length && !this.#broken; ) {
        try {
          at += writeSync(this.#fd, line, at)
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') this.#broken = true
          if (Date.now() > until) return
        }
      }
    }
    this.#bytes = 0
  }

  #pump(): void {
    if (this.#writing || this.#broken || this.#lines.length === 0) return
    const some: Buffer[] = []
    let bytes = 0
    while (this.#lines[0] && (some.length === 0 || bytes + this.#lines[0].length <= logWriteBytesMax)) {
      const line = this.#lines.shift() as Buffer
      some.push(line)
      bytes += line.length
    }
    this.#writing = true
    this.#put(some.length === 1 ? (some[0] as Buffer) : Buffer.concat(some), bytes)
  }

  #put(block: Buffer, whole: number): void {
    write(this.#fd, block, (error, written) => {
      if (error && error.code !== 'EAGAIN') {
        this.#broken = true
        this.#lines = []
        this.#onDrained()
        return this.#onBroken()
      }
      // Nobody reads fast enough: a pipe that is full at this moment is asked again later, or it would be asked for ever.
      if (error) return void setTimeout(() => this.#put(block, whole), logWriteAgainMs)
      const rest = block.subarray(written)
      if (rest.length > 0) return this.#put(rest, whole)
      this.#bytes -= whole
      this.#writing = false
      this.#tellDropped()
      if (this.#lines.length === 0) this.#onDrained()
      this.#pump()
    })
  }

  #tellDropped(): void {
    const dropped = this.#dropped
    if (!dropped || this.#bytes > logBufferBytesMax / 2) return
    this.#dropped = null
    this.#onDropped(dropped)
  }
}
