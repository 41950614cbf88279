import { type Fault, faultOf, MillraceError } from '../errors.ts'
import type { FlowEvent } from '../flow/event.ts'
import { pause } from '../flow/pause.ts'
import { unlessAborted } from '../flow/unlessAborted.ts'
import { backOffMs, officeEndMs, unitBackOff } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Coordinator, OpenCoordinator } from '../ports/coordinator.ts'
import { enterQueue, firstInLine, type Place, type QueueHow } from './candidate.ts'
import { leaseTimes } from './decide/lease.ts'
import { type Lease, startLease } from './lease.ts'
import { type Lowest, lowest } from './lowest.ts'
import { type Office, takeOffice } from './office.ts'
import { startPresence } from './presence.ts'
import { type Sessions, sessionsOf } from './session.ts'

export type CandidacyHow = {
  identity: { id: string; url: string | null; software: string }
  open: OpenCoordinator
  sessionMs: number
  clock: Clock
  uptimeMs(): number
  chance: Chance
  store: { epoch(): Promise<number | null> } | null
  tell(event: FlowEvent): void
  stop: AbortSignal
  /** Leads until the signal of the office; when it ends before, office is taken anew (C-21). */
  lead(office: Office): Promise<void>
}

export type Candidacy = {
  /** After the stop; rejects with what no waiting mends (C-4), or a bug. */
  readonly done: Promise<void>
  /** The session in use, also one that is being opened. */
  coordinator(): Coordinator | null
  state(): {
    registered: boolean
    trouble: Fault | null
    /** The epoch that it leads in. */
    leading: number | null
    remainingMs: number
  }
  /** What was left of its lease at least, since the last time that this was asked. */
  leaseLowMs(): number
}

type Own = { how: CandidacyHow; sessions: Sessions; lease: Lease | null; place: Place | null; office: Office | null }
type State = Own & { trouble: Fault | null; leaseLow: Lowest }

/** Queues for the office, leads, and queues again (C-20 to C-25). */
export function startCandidacy(how: CandidacyHow): Candidacy {
  const sessions = sessionsOf(how)
  const none = { lease: null, place: null, office: null, trouble: null }
  const state: State = { how, sessions, ...none, leaseLow: lowest() }
  return {
    done: live(state),
    coordinator: sessions.current,
    state: () => ({
      registered: state.place !== null,
      trouble: sessions.trouble() ?? state.trouble,
      leading: state.office?.epoch ?? null,
      remainingMs: state.lease?.remainingMs() ?? 0,
    }),
    leaseLowMs: () => state.leaseLow.take(state.lease?.remainingMs() ?? 0),
  }
}

async function live(state: State): Promise<void> {
  const { stop } = state.how
  while (!stop.aborted) {
    const coordinator = await state.sessions.next()
    if (coordinator === null) return
    try {
      while (!stop.aborted && coordinator.state().phase !== 'lost') if (!(await candidacy(coordinator, state))) break
    } finally {
      await coordinator.close()
    }
  }
}

/** One place in the queue, from its making to its end. False: the session is to be given up. */
async function candidacy(coordinator: Coordinator, state: State): Promise<boolean> {
  const { how } = state
  const { clock, uptimeMs } = how
  const ended = new AbortController()
  const sessionMs = coordinator.state().timeoutMs
  const end = () => ended.abort()
  const nothing = () => {}
  const fenced = () => {
    state.leaseLow.note(0)
    end()
  }
  const on = { closing: nothing, fenced, open: nothing, extending: state.leaseLow.note }
  const lease = startLease({ clock, uptimeMs, sessionMs, on })
  const signal = AbortSignal.any([how.stop, ended.signal])
  const queue: QueueHow = { coordinator, identity: how.identity, lease, clock, signal }
  state.lease = lease
  try {
    const place = await enter(queue, state)
    if (place === 'not now') return true
    if (place === null) return false
    state.place = place
    let broken: { error: unknown } | null = null
    const { path, version, data } = place
    const presence = startPresence({
      ...{ coordinator, path, version, lease, clock, data: () => data, lost: end, taken: end },
      fatal(error) {
        broken = { error }
        end()
      },
    })
    // Found after an unknown outcome it has no lease before its first beat.
    if (lease.state() !== 'open') presence.change()
    await terms(queue, place, state).finally(presence.stop)
    if (broken) throw (broken as { error: unknown }).error
    return await leaveQueue(queue, place)
  } finally {
    state.place = null
    state.lease = null
    lease.stop()
  }
}

/** Null: the parents are not there, or it is stopped; a new session looks at them (COORDINATION §10). */
async function enter(queue: QueueHow, state: State): Promise<Place | null | 'not now'> {
  const { coordinator, clock, signal } = queue
  try {
    const place = await unlessAborted(enterQueue(queue), signal)
    state.trouble = null
    return place
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    state.trouble = faultOf(error, error.code)
    const isDenied = error.code === 'coordination-denied'
    await pause(clock, isDenied ? unitBackOff.firstMs : leaseTimes(coordinator.state().timeoutMs).lookMs, signal)
    return 'not now'
  }
}

/** Waits in line and leads, until the place is lost. */
async function terms(queue: QueueHow, place: Place, state: State): Promise<void> {
  const { signal, clock } = queue
  for (let failed = 0; !signal.aborted; ) {
    if (!(await firstInLine(queue, place))) return
    const office = await take(queue, state)
    if (office === null) continue
    state.office = office
    const fault = await led(office, state)
    state.office = null
    // Deposed: another is in office, and we are last in line (C-22).
    if (office.signal.aborted) return
    failed = fault === null ? 0 : failed + 1
    if (failed > 0) await pause(clock, backOffMs(unitBackOff, failed, state.how.chance), signal)
  }
}

async function take({ coordinator, lease, clock, signal }: QueueHow, state: State): Promise<Office | null> {
  const { identity, store } = state.how
  const trouble = (fault: Fault | null) => {
    state.trouble = fault
  }
  try {
    return await takeOffice({ ...{ coordinator, lease, clock, signal, store, trouble }, id: identity.id })
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    trouble(faultOf(error, error.code))
    await pause(clock, leaseTimes(coordinator.state().timeoutMs).lookMs, signal)
    return null
  }
}

/** Gives the fault that it ended with before its time. What does not end at the signal is not waited for (C-25). */
async function led(office: Office, { how }: State): Promise<Fault | null> {
  const over = new AbortController()
  const late = new Promise<null>(resolve => {
    const wait = () => void pause(how.clock, officeEndMs, over.signal).then(() => resolve(null))
    office.signal.addEventListener('abort', wait, { once: true })
    if (office.signal.aborted) wait()
  })
  try {
    await Promise.race([how.lead(office), late])
    return null
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    const fault = faultOf(error, error.code)
    if (!office.signal.aborted) how.tell(fault)
    return fault
  } finally {
    over.abort()
  }
}

/** So that the next in line need not wait for our silence (C-25). False: it may still be there. */
async function leaveQueue({ coordinator }: QueueHow, { path }: Place): Promise<boolean> {
  if (coordinator.state().phase === 'lost') return false
  try {
    await coordinator.write([{ do: 'remove', path, version: null }])
    return true
  } catch (error) {
    if (error instanceof MillraceError) return false
    throw error
  }
}
