import type { Codec } from '../batch/codec.ts'
import type { Crc } from '../batch/crc.ts'
import type { Fault } from '../errors.ts'
import { atMost } from '../flow/atMost.ts'
import type { AnyKind, FlowWorker } from '../flow/contract.ts'
import type { FlowEvent } from '../flow/event.ts'
import { every } from '../flow/every.ts'
import { leaveMs, unitAbortMs, unitLookMs, unitStopsMax } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { OpenCoordinator } from '../ports/coordinator.ts'
import type { KafkaCluster } from '../ports/kafka.ts'
import { type Assignments, startAssignments } from './assignments.ts'
import { writeHeld } from './decide/documents/held.ts'
import type { LeaseState } from './decide/lease.ts'
import { unitsOf } from './decide/units.ts'
import { type Held, type HeldNow, startHeld } from './held.ts'
import type { Kinds } from './kinds.ts'
import type { Lease } from './lease.ts'
import { type Lowest, lowest } from './lowest.ts'
import { type Identity, type Joined, type Membership, startMembership } from './membership.ts'
import { startStats } from './stats.ts'
import { turnsOf } from './turns.ts'
import type { WorkerParts } from './workerFlow.ts'
import { startWorkerFlows, type WorkerFlows } from './workerFlows.ts'

export type FleetWorkerHow = {
  identity: Identity
  open: OpenCoordinator
  sessionMs: number
  kinds: Kinds
  kafka(cluster: string): KafkaCluster
  codec: Codec
  crc: Crc
  clock: Clock
  uptimeMs(): number
  chance: Chance
  /** Finish what is under way and leave (C-60); wait no longer. */
  stop: AbortSignal
  abort: AbortSignal
  /** `flow` null: of the process. */
  tell(flow: string | null, event: FlowEvent): void
}

export type FleetWorkerState = {
  registered: boolean
  lease: LeaseState
  remainingMs: number
  /** Why it is not registered, or cannot read what it is to run. */
  trouble: Fault | null
  /** Of the newest assignment that was taken. */
  epoch: number
  generation: number
  held: number
  fences: number
  /** Older documents that were not taken. */
  stale: number
  /** Units that did not stop in time. */
  dirty: number
}

export type FleetWorker = {
  /** After the stop. `whole`: all checkpoints are stored. Rejects with `id-taken`, `config-invalid` (C-4), or a bug. */
  readonly done: Promise<{ whole: boolean }>
  state(): FleetWorkerState
  /** What was left of its lease at least, since the last time that this was asked. */
  leaseLowMs(): number
  flows(): Iterable<{ flow: string; kind: AnyKind; worker: FlowWorker }>
}

type State = {
  joined: { held: Held; assignments: Assignments } | null
  phase: 'ready' | 'stopping' | 'left'
  /** Why the assignment cannot be read. */
  trouble: Fault | null
  counts: { fences: number; stale: number; dirty: number }
  leaseLow: Lowest
  /** Called at the fence, while a lost registration is given up. */
  onFence(): void
}

/** One worker of a fleet: registers, reads what it is to run, runs it, and reports what it holds (COORDINATION §4). */
export function startFleetWorker(how: FleetWorkerHow): FleetWorker {
  const state: State = {
    ...{ joined: null, phase: 'ready', trouble: null, counts: { fences: 0, stale: 0, dirty: 0 } },
    leaseLow: lowest(),
    onFence() {},
  }
  const flows = startWorkerFlows({
    kinds: how.kinds,
    parts: partsOf(how, state, { membership: () => membership, fatal }),
    fatal,
  })
  const membership: Membership = startMembership({
    ...how,
    state: () => (state.phase === 'ready' ? 'ready' : 'stopping'),
    heldAtFirst: () => writeHeld({ ...heldNow(state, flows), units: new Map(), atMs: how.clock.wallMs(), chunks: 0 }),
    on: {
      joined: joined => join(joined, { how, state, flows, membership: () => membership, fatal }),
      beaten: () => state.joined?.assignments.look(),
      closing: flows.closing,
      fenced() {
        state.counts.fences++
        state.leaseLow.note(0)
        flows.fence()
        state.onFence()
      },
      open: flows.open,
      extending: state.leaseLow.note,
      lost: (why, lease) => lost(why, lease, { how, state, flows, membership }),
    },
  })

  /** A bug: nothing is waited for but that the others need not wait for our silence (C-60). */
  function fatal(error: unknown): void {
    void farewell({ how, state, flows, membership }).finally(() => membership.fatal(error))
  }

  const cancel = watchErrors(how.clock, state, flows)
  return {
    done: life({ how, state, flows, membership }).finally(cancel),
    state: () => stateOf(state, flows, membership),
    leaseLowMs: () => state.leaseLow.take(membership.lease()?.remainingMs() ?? 0),
    *flows() {
      for (const one of flows.all()) {
        const running = one.running()
        if (running) yield { flow: one.flow, ...running }
      }
    },
  }
}

type All = { how: FleetWorkerHow; state: State; flows: WorkerFlows; membership: Membership }

/** What is there by the time it is needed. */
type Late = { membership(): Membership; fatal(error: unknown): void }

function partsOf(how: FleetWorkerHow, state: State, { membership, fatal }: Late): WorkerParts {
  const { kafka, clock, chance, codec, crc, stop, abort, tell } = how
  return {
    ...{ kafka, clock, chance, codec, crc, stop, abort, tell, stops: turnsOf(unitStopsMax) },
    lease: {
      mayWrite: () => membership().lease()?.state() === 'open',
      mayCommit: () => membership().lease()?.mayCommit() ?? false,
    },
    changed: () => state.joined?.held.report(),
    dirty() {
      state.counts.dirty++
    },
    broke: fatal,
  }
}

function heldNow({ phase }: State, flows: WorkerFlows): HeldNow {
  const { epoch, generation } = flows.accepted() ?? { epoch: 0, generation: 0 }
  const running = flows.isFenced() ? 'fenced' : 'running'
  return {
    epoch,
    generation,
    units: phase === 'left' ? new Map() : unitsOf(flows.held()),
    state: phase === 'ready' ? running : phase,
    errors: flows.errors(),
  }
}

/** What a registration begins: the assignment is read, what is held is reported, what is measured is written. */
function join({ coordinator, heldVersion, signal, lost: tellLost }: Joined, all: Omit<All, 'membership'> & Late): void {
  const { how, state, flows, fatal } = all
  const { clock, chance, identity } = how
  const { id } = identity
  const shared = { coordinator, id, clock, chance, signal, fatal }
  const held = startHeld({
    ...{ ...shared, version: heldVersion, now: () => heldNow(state, flows), lost: tellLost },
    taken: fault => all.membership().taken(fault),
  })
  const assignments = startAssignments({
    ...shared,
    mayTake: () => all.membership().lease()?.state() === 'open',
    seen: flows.accepted,
    apply(doc) {
      flows.apply(doc)
      flows.refresh(coordinator)
    },
    stale() {
      state.counts.stale++
      held.report()
    },
    looked() {
      flows.looked()
      flows.refresh(coordinator)
    },
    trouble(fault) {
      if (fault && fault.message !== state.trouble?.message) how.tell(null, fault)
      state.trouble = fault
    },
  })
  state.joined = { held, assignments }
  startStats({ ...shared, now: flows.stats })
}

/** C-12: what the lease still allows is done in order; then everything is given up, for it may be others' by now. */
async function lost(why: string, lease: Lease, { how, state, flows, membership }: All): Promise<void> {
  state.joined = null
  how.tell(null, { code: 'session-lost', message: `this worker is registered no more: ${why}` })
  if (lease.state() !== 'fenced') {
    const fenced = new Promise<void>(resolve => {
      state.onFence = resolve
    })
    flows.closing()
    await Promise.race([flows.quiet(), fenced])
    state.onFence = () => {}
  }
  flows.fence()
  await flows.drop()
  // Who is leaving has nothing left to do.
  if (state.phase !== 'ready') membership.end()
}

async function life(all: All): Promise<{ whole: boolean }> {
  const { how, flows, membership } = all
  const leaving = Promise.withResolvers<boolean>()
  leaving.promise.catch(membership.fatal)
  const begin = () => void leave(all).then(leaving.resolve, leaving.reject)
  if (how.stop.aborted) begin()
  else how.stop.addEventListener('abort', begin, { once: true })
  try {
    await membership.done
    return { whole: how.stop.aborted && (await leaving.promise) }
  } catch (error) {
    flows.fence()
    await flows.drop()
    throw error
  }
}

/** C-60: every unit leaves as it ends, the last report says so, and the session is closed. */
async function leave({ how, state, flows, membership }: All): Promise<boolean> {
  state.phase = 'stopping'
  membership.change()
  state.joined?.held.report()
  const whole = await flows.end()
  await sayLeft(how.clock, state)
  membership.end()
  return whole && !how.abort.aborted
}

async function farewell({ how, state, flows }: All): Promise<void> {
  flows.fence()
  await atMost(flows.quiet(), unitAbortMs, how.clock)
  await sayLeft(how.clock, state)
}

async function sayLeft(clock: Clock, state: State): Promise<void> {
  state.phase = 'left'
  const { joined } = state
  if (joined === null) return
  joined.held.report()
  await atMost(joined.held.written(), leaveMs, clock)
}

/** Why a unit does not run changes without any event; since when it does not is no news, and is not the same to the ms. */
function watchErrors(clock: Clock, state: State, flows: WorkerFlows): () => void {
  let known = '[]'
  return every(clock, unitLookMs, () => {
    const now = JSON.stringify(flows.errors().map(({ unit, code, offset }) => [unit, code, offset]))
    if (now !== known) state.joined?.held.report()
    known = now
  })
}

function stateOf(state: State, flows: WorkerFlows, membership: Membership): FleetWorkerState {
  const { epoch, generation } = flows.accepted() ?? { epoch: 0, generation: 0 }
  const lease = membership.lease()
  return {
    registered: membership.joined() !== null,
    lease: lease?.state() ?? 'fenced',
    remainingMs: lease?.remainingMs() ?? 0,
    trouble: membership.trouble() ?? state.trouble,
    epoch,
    generation,
    // Asked for by few, and as long as the list of all units.
    get held() {
      return flows.held().length
    },
    ...state.counts,
  }
}
