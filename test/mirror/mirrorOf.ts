import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import type { Gaps } from '../../engine/flow/position.ts'
import { type Copy, openCopy } from '../../engine/mirror/copy.ts'
import type { MirrorEvent } from '../../engine/mirror/events.ts'
import type { CopyReport } from '../../engine/mirror/report.ts'
import type { Unit } from '../../engine/mirror/run.ts'
import type { Chance } from '../../engine/ports/clock.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeKafka } from '../fakes/kafka/cluster.ts'

/** A copy of everything from `east` to `west`, both in memory, with one account, on one clock. */
export function mirrorOf(how: {
  brokers: number
  account?: MemoryAccount
  chance?: Chance
  untilEnd?: boolean
  gaps?: Gaps
}) {
  const clock = manualClock()
  const { account = new MemoryAccount({ poison: true }), chance = () => 0.5, brokers } = how
  const [east, west] = ['east', 'west'].map(name => fakeKafka({ clock, name, brokers, account, chance }))
  if (!east || !west) throw new Error('two clusters')
  const events: MirrorEvent[] = []
  let running: { copy: Copy; stop: AbortController; abort: AbortController } | null = null
  const open = () => {
    const stop = new AbortController()
    const abort = new AbortController()
    const opening = openCopy({
      name: 'flow',
      from: east,
      to: west,
      spec: {
        topics: { include: ['t'], exclude: [], names: [] },
        isolation: 'read_committed',
        gaps: how.gaps ?? 'continue',
      },
      untilEnd: how.untilEnd ?? false,
      clock,
      chance,
      codec,
      crc: crc32c,
      stop: stop.signal,
      abort: abort.signal,
      tell: event => events.push(event),
    })
    return { stop, abort, opening }
  }
  /** Lets the clock go on until the promise has ended. */
  const over = async <T>(promise: Promise<T>): Promise<T> => {
    let ended = false
    const mark = () => {
      ended = true
    }
    promise.then(mark, mark)
    await clock.until(() => ended)
    return promise
  }
  return {
    clock,
    east,
    west,
    events,
    over,
    units: (): Iterable<Unit> => running?.copy.units() ?? [],
    async start() {
      const { stop, abort, opening } = open()
      const copy = await over(opening)
      running = { copy, stop, abort }
      copy.done.catch(() => {})
    },
    /** Waits for the copy to end by itself. */
    async ended(): Promise<CopyReport & { whole: boolean }> {
      if (!running) throw new Error('it does not run')
      const { copy } = running
      running = null
      const { whole } = await over(copy.done)
      return { ...copy.report(), whole }
    },
    /** Ends the copy: after the last acknowledgement, or at once. */
    async stop(hard = false) {
      if (!running) return
      const { copy, stop, abort } = running
      running = null
      stop.abort()
      if (hard) abort.abort()
      await over(copy.done)
    },
  }
}
