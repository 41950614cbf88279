import { createHash } from 'node:crypto'
import type { TestContext } from 'node:test'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { startApi } from '../../engine/api/api.ts'
import type { AuditLine } from '../../engine/api/audit.ts'
import type {
  ApiParts,
  Known,
  KnownEvent,
  KnownFlow,
  KnownUnit,
  KnownWorker,
  OffsetsRequest,
} from '../../engine/api/parts.ts'
import type { Role } from '../../engine/api/tokens.ts'
import { writeAssignment } from '../../engine/fleet/decide/documents/assignment.ts'
import { type FlowDoc, noFlowOverlay, writeFlow } from '../../engine/fleet/decide/documents/flow.ts'
import { type HeldDoc, writeHeld } from '../../engine/fleet/decide/documents/held.ts'
import { paths, roots } from '../../engine/fleet/decide/documents/paths.ts'
import { type WorkerDoc, writeWorker } from '../../engine/fleet/decide/documents/worker.ts'
import { unitsOf } from '../../engine/fleet/decide/units.ts'
import type { Coordinator } from '../../engine/ports/coordinator.ts'
import { silent } from '../../engine/ports/log.ts'
import { kindEntries, specFaults } from '../../engine/wiring/kinds.ts'
import { type FakeCoordination, fakeCoordination } from '../fakes/coordinator.ts'

/** A fleet as the API sees it: documents in a tree, and what a leader would say of them. */
export type Fleet = {
  coordination: FakeCoordination
  put(path: string, data: string): void
  putFlow(name: string, doc?: Partial<FlowDoc>): string
  putWorker(id: string, doc?: Partial<WorkerDoc>): void
  putHeld(id: string, units: readonly string[], doc?: Partial<HeldDoc>): void
  putAssignment(id: string, units: readonly string[]): void
  tagOf(path: string): string
  dataOf(path: string): string | null
}

/** `delayMsMax`: how long each way to the documents takes, so that what is asked at once really crosses. */
export function newFleet(delayMsMax = 0): Fleet {
  const coordination = fakeCoordination({ clock: machineClock(), delayMsMax })
  const { tree } = coordination
  function put(path: string, data: string): void {
    const op = tree.read(path)
      ? ({ do: 'set', path, data, version: null } as const)
      : ({ do: 'create', path, data, mode: 'persistent' } as const)
    const written = tree.write([op], 'test')
    if (!written.done) throw new Error(`${path}: ${written.refused.why}`)
  }
  for (const root of roots) put(root, '')
  put(paths.epoch, '{"atMs":1,"epoch":7,"leader":"lead-1","v":1}')
  const tagOf = (path: string) => tree.read(path)?.tag ?? 'none'
  return {
    coordination,
    put,
    putFlow(name, doc = {}) {
      const changedBy = { atMs: 1, by: 'test' }
      const whole = { kind: 'mirror', origin: 'api', changedBy, spec: goodSpec(), overlay: noFlowOverlay }
      put(paths.flow(name), writeFlow({ ...whole, deleting: false, rest: new Map(), ...doc }))
      return tagOf(paths.flow(name))
    },
    putWorker: (id, doc = {}) => put(paths.worker(id), writeWorker({ ...workerDoc(id), ...doc })),
    putHeld(id, names, doc = {}) {
      const whole = { atMs: 1, epoch: 7, generation: 3, chunks: 0, state: 'running' as const, errors: [] }
      put(paths.held(id), writeHeld({ ...whole, units: unitsOf(names), ...doc }))
    },
    putAssignment(id, names) {
      const whole = { epoch: 7, generation: 3, chunks: 0, specs: new Map() }
      put(paths.assignment(id), writeAssignment({ ...whole, units: unitsOf(names) }))
    },
    tagOf,
    dataOf: path => tree.read(path)?.data ?? null,
  }
}

export function goodSpec(include = 'clicks\\..*') {
  return { from: 'east', to: 'west', topics: { include: [include] } }
}

function workerDoc(id: string): WorkerDoc {
  const record = {
    capacity: 1_000,
    leaseMs: 7_500,
    revision: 'r1',
    software: '0.1.0',
    startedAtMs: 1,
    unitsMax: 20_000,
  }
  return { id, address: null, ...record, state: 'ready', tags: [], task: 'task' }
}

export const tokens: Record<Role, string> = {
  viewer: 'viewer-token-0123456789',
  operator: 'operator-token-0123456789',
  admin: 'admin-token-0123456789',
}

export const tokenRoles = {
  tokens: () =>
    Object.entries(tokens).map(([role, token]) => ({
      name: `the-${role}`,
      role: role as Role,
      sha256: createHash('sha256').update(token).digest('hex'),
    })),
}

export type Asking = {
  token?: string | null
  body?: unknown
  /** As it is, in place of `body`. */
  text?: string
  headers?: Record<string, string>
}
export type Told = { status: number; headers: Headers; text: string; json: Record<string, unknown> }

export type Served = Fleet & {
  url: string
  audit: AuditLine[]
  asked: OffsetsRequest[]
  session: Coordinator
  close(): Promise<void>
  ask(method: string, path: string, how?: Asking): Promise<Told>
}

/** An API on a free port of this machine, over a fleet; it ends with the test. */
export async function served(t: TestContext, more: Partial<ApiParts> = {}, fleet = newFleet()): Promise<Served> {
  const audit: AuditLine[] = []
  const asked: OffsetsRequest[] = []
  const session = fleet.coordination.open()
  const known = knownOf(asked)
  const api = await startApi({
    listen: { host: '127.0.0.1', port: 0 },
    mode: 'fleet',
    version: '0.1.0',
    coordinator: () => session,
    kinds: kindEntries,
    specFaults,
    leader: () => ({ id: 'lead-1', epoch: 7, url: null, here: true }),
    known: () => known,
    preview: async () => ({ topics: [], units: 3, warnings: [] }),
    readOffsets: async () => [
      { topic: 'clicks.a', partition: 0, checkpoint: 5n, logStart: 0n, lastStable: 9n, highWatermark: 10n },
    ],
    events: flow => (flow === 'clicks' ? [heard] : []),
    nudge() {},
    ready: () => ({ ready: true, why: null }),
    metrics: async () => ({ type: 'text/plain', text: 'millrace_up 1\n' }),
    fetch,
    clock: machineClock(),
    chance: Math.random,
    auth: tokenRoles,
    audit: line => void audit.push(line),
    log: silent,
    keepsChanges: true,
    ...more,
  })
  let closed: Promise<void> | null = null
  const close = () => {
    closed ??= api.close()
    return closed
  }
  t.after(close)
  await connected(more.coordinator?.() ?? session)
  return { ...fleet, url: api.url, audit, asked, session, close, ask: (...args) => ask(api.url, ...args) }
}

const heard: KnownEvent = {
  ...{ code: 'source-gap', message: '10 offsets are gone', topic: 'clicks.a', partition: 0, worker: null },
  ...{ from: 3n, to: 13n, atMs: 1_700_000_000_000 },
}

export async function ask(url: string, method: string, path: string, how: Asking = {}): Promise<Told> {
  const { token = tokens.admin, body, headers = {} } = how
  const text = how.text ?? (body === undefined ? undefined : JSON.stringify(body))
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(text === undefined ? {} : { body: text }),
  })
  const told = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    text: told,
    json: isJson && told !== '' ? JSON.parse(told) : {},
  }
}

async function connected(session: Coordinator): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const done = new AbortController()
  session.changed(phase => phase === 'connected' && resolve(), done.signal)
  if (session.state().phase === 'connected') resolve()
  await promise
  done.abort()
}

export function knownOf(asked: OffsetsRequest[] = []): Known {
  const workers = new Map<string, KnownWorker>([['w-1', knownWorker('w-1')]])
  const flows = new Map<string, KnownFlow>([['clicks', knownFlow()]])
  const unit: KnownUnit = { owner: 'w-1', inTransit: null, intent: null, weight: 4_096, wish: null, why: null }
  return {
    epoch: 7,
    sinceMs: 0,
    plan: () => ({
      give: [{ id: 'clicks/clicks.a/1', to: 'w-1' }],
      withdraw: [],
      unplaced: [],
      why: 'gave',
      more: false,
      loads: new Map([['w-1', 4_096]]),
    }),
    workers: () => workers,
    flows: () => flows,
    unit: name => (name === 'clicks/clicks.a/0' ? unit : null),
    units: flow => new Map(flow === 'clicks' ? [['clicks.a/0', unit]] : []),
    async setOffsets(_flow, request) {
      asked.push(request)
      return [{ topic: 'clicks.a', partition: 0, before: 5n, after: 0n, fault: null }]
    },
  }
}

function knownWorker(id: string): KnownWorker {
  const at = { epoch: 7, generation: 3 }
  return {
    doc: workerDoc(id),
    beatAgeMs: 500.4,
    wanted: at,
    applied: at,
    units: 1,
    held: 1,
    load: 4_096,
    share: 1,
    state: 'ready',
    quarantinedUntilMs: null,
    heldState: 'running',
    errors: [{ unit: 'clicks/clicks.a/9', code: 'batch-corrupt', sinceMs: 1_700_000_000_000, offset: '9' }],
  }
}

function knownFlow(): KnownFlow {
  const sums = { records: 10, bytes: 100, gapRecords: 0, skippedRecords: 0, lagRecords: 4 }
  const topic = { topic: 'clicks.a', destination: 'clicks.a', partitions: 10, state: 'running' as const, ...sums }
  return {
    tag: '1',
    kind: 'mirror',
    fault: null,
    nextTryMs: null,
    wanted: 1,
    assigned: 1,
    held: 1,
    inTransit: 0,
    unplaced: [],
    oldestUnheldMs: null,
    aside: new Map([['createTopic *', { code: 'kafka-not-authorized', message: 'no right', hint: null }]]),
    report: () => ({
      topics: [topic],
      partitions: 1,
      notRunning: 0,
      partitionsUnknown: 0,
      lagSeconds: 1.5,
      ...sums,
    }),
  }
}
