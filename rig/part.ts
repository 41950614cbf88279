import type { Cache } from './cache.ts'
import type { RigError } from './errors.ts'
import type { Guard } from './guard.ts'
import type { Ports } from './ports.ts'
import type { Tool } from './tools.ts'

/** The kinds of servers that the rig can start. */
export type PartName = 'kafka' | 'zookeeper' | 'proxy' | 'children'

/** How a process ended, as Node says it: one of the two is null. */
export type Exit = { code: number | null; signal: string | null }

/**
 * One server, or one cluster of servers that is started and ended as a whole, while it runs.
 * `A` is its address: plain JSON, everything a client needs, all on loopback.
 */
export interface Running<A> {
  /** `kafka.east`, a broker of it `kafka.east.2`. */
  readonly name: string
  readonly address: A
  /** Path of the log file. */
  readonly log: string
  /** Process ids (each is its group's id too) of what runs at present; empty for a part in the owner's process. */
  readonly pids: number[]
  /** The end of the present process; after `restart()` it is another promise. */
  readonly exited: Promise<Exit>
  /** Graceful; for tests that mean a graceful stop. */
  stop(): Promise<void>
  /** SIGKILL to the group; the default at teardown. */
  kill(): Promise<void>
  /** SIGSTOP: alive and silent, as soon as it resolves. */
  pause(): Promise<void>
  /** SIGCONT. */
  resume(): void
  /** Same ports, same data; ends what still runs first. Resolves when ready again. */
  restart(): Promise<void>
}

/** What a part may use. It knows no other part and no environment. */
export interface RigContext {
  /** The running name that the part must take: `kafka.east`. */
  name: string
  /** The run folder; a part writes below `<dir>/<name>` and its log to `<dir>/<name>.log`. */
  dir: string
  ports: Ports
  cache: Cache
  guard: Guard
  /** Aborted when the set ends: every child of `startChild` is then killed, and none can be started any more. */
  signal: AbortSignal
  progress(line: string): void
  /** What a part holds in the owner's process (a proxy) is released by the end of the set. */
  atEnd(release: () => Promise<void>): void
  /** A process that ended by itself after readiness (`rig-died`). */
  died(error: RigError): void
}

/** What stands behind a part's name on the command line: `kafka:west=3,sasl-plaintext,heapMb=768` (RIG §3). */
export type Words = { count: number | null; flags: string[]; values: Record<string, string> }

/** A kind of server. `O` are its options, every one of them optional. */
export interface Part<O, R extends Running<unknown>> {
  name: PartName
  /** Tools that this start will run; what the cache already holds needs none. Asked before anything is made. */
  needs(options: O, cache: Cache): Promise<Tool[]>
  /** What a start with these options claims of the memory. */
  memoryMb(options: O): number
  /** Options from the command line; throws `rig-usage`. */
  read(words: Words): O
  /**
   * Resolves after readiness, or rejects with a `RigError` after it has ended its own processes.
   * `rig-port` makes the caller empty `<dir>/<name>` and call again, with other ports.
   */
  start(options: O, ctx: RigContext): Promise<R>
}

/** A part with its options: what `rig({…})` takes. */
export interface Wanted<R extends Running<unknown>> {
  part: PartName
  needs(cache: Cache): Promise<Tool[]>
  memoryMb: number
  start(ctx: RigContext): Promise<R>
}

/** `rig({ east: want(kafka, { brokers: 3 }), zk: want(zookeeper, {}) })` */
export function want<O, R extends Running<unknown>>(part: Part<O, R>, options: O): Wanted<R> {
  return {
    part: part.name,
    needs: cache => part.needs(options, cache),
    memoryMb: part.memoryMb(options),
    start: ctx => part.start(options, ctx),
  }
}
