import { type Fault, faultOf, MillraceError } from '../errors.ts'
import { pause } from '../flow/pause.ts'
import { untilAborted } from '../flow/untilAborted.ts'
import { backOffMs, unitBackOff } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Coordinator, Node, Op, OpenCoordinator } from '../ports/coordinator.ts'
import { paths } from './decide/documents/paths.ts'
import { type WorkerDoc, writeWorker } from './decide/documents/worker.ts'
import { leaseTimes } from './decide/lease.ts'
import { type Lease, startLease } from './lease.ts'
import { idTaken, type Presence, startPresence } from './presence.ts'
import { type Sessions, sessionsOf } from './session.ts'

export type Identity = Omit<WorkerDoc, 'leaseMs' | 'state' | 'startedAtMs'>

/** A registration, until it is lost: its documents are there as long as its session, and nobody takes them away. */
export type Joined = { coordinator: Coordinator; heldVersion: number; signal: AbortSignal; lost(why: string): void }

export type MembershipHow = {
  identity: Identity
  open: OpenCoordinator
  sessionMs: number
  clock: Clock
  uptimeMs(): number
  chance: Chance
  state(): WorkerDoc['state']
  /** The report that a registration writes: nothing held, of the newest document that was taken (C-12). */
  heldAtFirst(): string
  on: {
    joined(joined: Joined): void
    /** After each answered beat. */
    beaten(): void
    closing(): void
    fenced(): void
    open(): void
    extending(leftMs: number): void
    /** Ends when nothing of ours acts any more; the next registration waits for it (C-12). */
    lost(why: string, lease: Lease): Promise<void>
  }
}

export type Membership = {
  /** After `end`. Rejects with `id-taken`, what no waiting mends, or a bug. */
  readonly done: Promise<void>
  lease(): Lease | null
  joined(): Joined | null
  trouble(): Fault | null
  /** Our document has changed. */
  change(): void
  /** Somebody else has our id: the end. */
  taken(fault: Fault): void
  fatal(error: unknown): void
  /** The session is closed, and no other opened. */
  end(): void
}

type State = {
  how: MembershipHow
  sessions: Sessions
  ended: AbortController
  broken: { error: unknown } | null
  /** Why it could not register. */
  refused: Fault | null
  lease: Lease | null
  joined: Joined | null
  presence: Presence | null
  /** Every session that this process has had: what such a one left behind is ours to take away. */
  ours: Set<string>
  startedAtMs: number
}

/** Registers this worker, again under the same id whenever its registration is lost, and beats (C-3, C-12). */
export function startMembership(how: MembershipHow): Membership {
  const ended = new AbortController()
  const state: State = {
    ...{ how, sessions: sessionsOf({ ...how, stop: ended.signal }), ended, broken: null, refused: null },
    ...{ lease: null, joined: null, presence: null, ours: new Set<string>(), startedAtMs: how.clock.wallMs() },
  }
  const fatal = (error: unknown) => fail(state, error)
  return {
    done: live(state),
    lease: () => state.lease,
    joined: () => state.joined,
    trouble: () => state.sessions.trouble() ?? state.refused,
    change: () => state.presence?.change(),
    taken: fault => fatal(errorOf(fault)),
    fatal,
    end: () => ended.abort(),
  }
}

async function live(state: State): Promise<void> {
  const { ended, how } = state
  while (!ended.signal.aborted) {
    const coordinator = await state.sessions.next()
    if (coordinator === null) break
    try {
      const why = await membership(coordinator, state)
      if (why !== null && state.lease && !ended.signal.aborted) await how.on.lost(why, state.lease)
    } finally {
      state.lease?.stop()
      state.lease = null
      await coordinator.close()
    }
  }
  if (state.broken) throw state.broken.error
}

/** From the registration to its loss: gives why it was lost; null: ended, or never there. */
async function membership(coordinator: Coordinator, state: State): Promise<string | null> {
  const { how, ended } = state
  const { clock, uptimeMs, on } = how
  const sessionMs = coordinator.state().timeoutMs
  const lease = startLease({ clock, uptimeMs, sessionMs, on })
  state.lease = lease
  const place = await register(coordinator, lease, state)
  if (place === null || ended.signal.aborted) return null
  const over = new AbortController()
  let reason: string | null = null
  const lost = (why: string) => {
    reason ??= why
    over.abort()
  }
  const signal = AbortSignal.any([over.signal, ended.signal])
  const { identity } = how
  state.presence = startPresence({
    ...{ coordinator, path: paths.worker(identity.id), version: place.version, lease, clock, lost },
    data: () => documentOf(state, sessionMs),
    answered: on.beaten,
    taken: fault => fail(state, errorOf(fault)),
    fatal: error => fail(state, error),
  })
  state.joined = { coordinator, heldVersion: place.heldVersion, signal, lost }
  on.joined(state.joined)
  // Found after an unknown outcome it has no lease before its first beat.
  if (lease.state() !== 'open') state.presence.change()
  await untilAborted(signal)
  state.presence.stop()
  state.presence = null
  state.joined = null
  return reason
}

function fail(state: State, error: unknown): void {
  state.broken ??= { error }
  state.ended.abort()
}

function errorOf({ code, message, hint }: Fault): MillraceError {
  return new MillraceError(code, message, { hint })
}

function documentOf({ how, startedAtMs }: State, sessionMs: number): string {
  const { identity } = how
  return writeWorker({ ...identity, leaseMs: leaseTimes(sessionMs).fencedMs, startedAtMs, state: how.state() })
}

type Registered = { version: number; heldVersion: number }

/** Own document and report in one write. Null: the session is lost, or the parents of the documents are gone. */
async function register(coordinator: Coordinator, lease: Lease, state: State): Promise<Registered | null> {
  const { how, ended, ours } = state
  const { lookMs } = leaseTimes(coordinator.state().timeoutMs)
  for (let tries = 1; !ended.signal.aborted; tries++) {
    const { session, phase } = coordinator.state()
    if (phase === 'lost') return null
    if (session !== null) ours.add(session)
    try {
      const registered = await tryToRegister(coordinator, lease, state)
      state.refused = null
      if (registered !== undefined) return registered
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code === 'id-taken') throw error
      state.refused = faultOf(error, error.code)
    }
    const isDenied = state.refused?.code === 'coordination-denied'
    await pause(how.clock, isDenied ? backOffMs(unitBackOff, tries, how.chance) : lookMs, ended.signal)
  }
  return null
}

/** Undefined: something has changed meanwhile. */
async function tryToRegister(
  coordinator: Coordinator,
  lease: Lease,
  state: State,
): Promise<Registered | null | undefined> {
  const { session, timeoutMs } = coordinator.state()
  const path = paths.worker(state.how.identity.id)
  const heldPath = paths.held(state.how.identity.id)
  const [node, held] = await Promise.all([coordinator.read(path), coordinator.read(heldPath)])
  // A registration of ours that was done and not answered.
  if (node && held && node.owner === session) return { version: node.version, heldVersion: held.version }
  const ops = [...freed(path, node, state.ours)]
  ops.push({ do: 'create', path, data: documentOf(state, timeoutMs), mode: 'ephemeral' })
  const data = state.how.heldAtFirst()
  if (held) ops.push({ do: 'set', path: heldPath, data, version: held.version })
  else ops.push({ do: 'create', path: heldPath, data, mode: 'persistent' })
  const sent = lease.sent()
  const written = await coordinator.write(ops)
  if (!written.done) return written.refused.why === 'missing' ? null : undefined
  lease.answered(sent)
  return { version: 0, heldVersion: written.versions.at(-1) ?? 0 }
}

/** One of a former session of ours goes, at the version seen; anybody else's is theirs. */
function freed(path: string, node: Node | null, ours: ReadonlySet<string>): Op[] {
  if (node === null) return []
  if (node.owner !== null && ours.has(node.owner)) return [{ do: 'remove', path, version: node.version }]
  throw errorOf(idTaken(path, null, node))
}
