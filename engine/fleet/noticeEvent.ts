import type { FlowEvent } from '../flow/event.ts'
import type { Notice } from './decide/reconcile.ts'

/** As a line for people; null: moves are counted, and shown by the API. */
export function noticeEvent(notice: Notice, nowMs: number): FlowEvent | null {
  const seconds = (ms: number) => `${Math.round(ms / 1_000)} s`
  switch (notice.code) {
    case 'units-moved':
      return null
    case 'worker-ejected': {
      const why = notice.why === 'silent' ? 'it is silent and its lease is over' : 'it does not let its units go'
      const message = `${notice.worker} is ejected: ${why}; ${notice.units} units run elsewhere`
      return { code: notice.code, message }
    }
    case 'release-slow': {
      const [first = ''] = notice.units
      const message = `${notice.worker} has not let go of ${notice.units.length} units for ${seconds(notice.forMs)}, as ${first}`
      return { code: notice.code, message, hint: 'look at the log of that worker; it is ejected after 60 s' }
    }
    case 'worker-quarantined': {
      const message = `${notice.worker} was lost three times in ten minutes: it gets no units for ${seconds(notice.untilMs - nowMs)}`
      return { code: notice.code, message, hint: 'look at its network and its machine' }
    }
  }
}
