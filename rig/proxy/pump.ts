/** One direction of one proxied connection: what comes out of `from` goes into `to`, in order, through the faults. */
import type { Socket } from 'node:net'
import { proxyBufferBytesMax } from '../limits.ts'
import type { Faults } from './faults.ts'
import { line } from './line.ts'

export interface Pump {
  /** The faults of this direction are now these. Bytes held until now go by the new ones, still in order. */
  apply(faults: Faults): void
  /** Nothing is read or sent by this pump after that. */
  stop(): void
}

export interface PumpContext {
  chance: () => number
  /** So many bytes were handed to the receiver's socket. */
  passed(bytes: number): void
  /** RST on both sides of the connection. */
  cut(): void
}

/** After a pause one more piece may come, and the stream itself keeps two: so far below the bound reading stops. */
const marginBytes = 3 * 64 * 1024

/**
 * Reading starts at once. Both sockets must be connected and allow half-open ends. A source that breaks resets the
 * receiver; under a black hole the receiver hears of neither end nor break until `apply`.
 */
export function pump(from: Socket, to: Socket, first: Faults, ctx: PumpContext): Pump {
  let faults = first
  const held = line()
  /** Since the faults were set: `cutAfterBytes` speaks of what comes, not of what was. */
  let passedBytes = 0
  let timer: NodeJS.Timeout | undefined
  let broken = false
  let stopped = false

  function release(): void {
    clearTimeout(timer)
    if (!faults.blackHole) {
      // A reset overtakes what is still held, as on a real line.
      if (broken && !stopped) to.resetAndDestroy()
      while (!stopped && !to.destroyed && !to.writableNeedDrain) {
        const due = held.next(faults, performance.now())
        if (due && 'slice' in due) {
          send(due.slice)
          continue
        }
        if (due) timer = setTimeout(release, Math.ceil(due.waitMs))
        break
      }
    }
    const full = held.costBytes + to.writableLength > proxyBufferBytesMax - marginBytes
    if (stopped || faults.stall || full || to.destroyed) from.pause()
    else from.resume()
  }

  function send(slice: Buffer): void {
    const left = (faults.cutAfterBytes ?? Number.POSITIVE_INFINITY) - passedBytes
    const part = slice.subarray(0, Math.min(slice.length, left))
    passedBytes += part.length
    if (left <= slice.length) {
      stop()
      // RST throws away what the kernel has not sent, so it waits until the kernel has the last byte.
      to.write(part, () => ctx.cut())
    } else if (slice.length === 0) {
      to.end()
    } else {
      to.write(part)
    }
    if (part.length > 0) ctx.passed(part.length)
  }

  function hold(bytes: Buffer): void {
    held.hold(bytes, performance.now(), ctx.chance())
    release()
  }

  function stop(): void {
    stopped = true
    clearTimeout(timer)
    held.clear()
  }

  from.on('data', hold)
  from.on('end', () => hold(Buffer.alloc(0)))
  from.on('error', () => {
    broken = true
    release()
  })
  to.on('drain', release)
  release()

  return {
    apply(next) {
      faults = next
      passedBytes = 0
      held.restart()
      release()
    },
    stop,
  }
}
