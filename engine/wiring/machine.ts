import { hostname, uptime } from 'node:os'
import { codec, crc32c } from '../adapters/kafka/native.ts'
import type { Codec } from '../batch/codec.ts'
import type { Crc } from '../batch/crc.ts'
import { processIdCharactersMax } from '../limits.ts'
import type { Chance } from '../ports/clock.ts'

/** What this machine hands to features, which reach for none of it themselves (STYLE 7). */
export type Machine = {
  host: string
  chance: Chance
  /** Goes on while the machine is suspended, which a monotonic clock does not (C-10). */
  uptimeMs(): number
  codec: Codec
  crc: Crc
}

export function thisMachine(): Machine {
  return {
    host: hostname(),
    chance: Math.random,
    uptimeMs: () => uptime() * 1_000,
    codec,
    crc: crc32c,
  }
}

/** The id of a process, new at each start (C-2). `task`: of the container it runs in; null: none. */
export function newProcessId({ task, host }: { task: string | null; host: string }, chance: Chance): string {
  const digits = Math.floor(chance() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')
  const place = (task === null ? host : task.slice(-12)).replace(/[^A-Za-z0-9_-]/g, '_')
  return `${place.slice(0, processIdCharactersMax - 1 - digits.length)}-${digits}`
}

/** Tags of a worker: what its configuration says, and the two that every worker has (C-53). Its own word comes first. */
export function workerTags(own: readonly string[], { zone, revision }: { zone: string; revision: string }): string[] {
  const given = [`zone=${zone}`, `revision=${revision}`]
  const said = (tag: string) => own.some(one => one.startsWith(tag.slice(0, tag.indexOf('=') + 1)))
  return [...new Set([...own, ...given.filter(tag => !said(tag))])].toSorted()
}
