import { type Fault, type FaultCode, MillraceError } from '../../../engine/errors.ts'
import { backOffMs, coordinationBytesMax, linkBackOff } from '../../../engine/limits.ts'
import type { Chance } from '../../../engine/ports/clock.ts'
import type { Coordinator, Op, Phase, Written } from '../../../engine/ports/coordinator.ts'
import type { Machine } from '../machine.ts'
import type { Network, Wire } from '../network.ts'
import type { Answer, Hello, Hint, Request, Welcome } from './clients.ts'
import type { Result } from './ensemble.ts'

type Ask = Request extends infer One ? (One extends Request ? Omit<One, 'xid'> : never) : never
type Open = { ask: Ask; settle(value: unknown): void; fail(code: FaultCode): void }

/** Deadlines of C-70 and C-74. */
const operationMs = 5_000
const closeMs = 2_000
const dialMs = 1_000
const spinMsMax = 500

export type ClientHow = {
  machine: Machine
  network: Network
  servers: readonly string[]
  sessionMs: number
  chance: Chance
}

/** One session of a process with ZooKeeper: what the adapter makes of its library (C-73 … C-86), over virtual wires. */
export function openVirtual({ machine, network, servers, sessionMs, chance }: ClientHow): Coordinator {
  const { clock } = machine
  const beatMs = sessionMs / 5
  const order = shuffled(servers, chance)
  const watches = new Map<string, Set<() => void>>()
  const listeners = new Set<(phase: Phase) => void>()
  let phase: Phase = 'connecting'
  let session: string | null = null
  let wire: Wire | null = null
  let xid = 0
  let zxid = 0
  let dials = 0
  let failures = 0
  let answeredMs = clock.nowMs()
  let sentMs = clock.nowMs()
  let cancelDial = () => {}
  let cancelPing = () => {}
  const open = new Map<number, Open>()

  function set(next: Phase): void {
    if (phase === next || phase === 'lost') return
    phase = next
    for (const tell of [...listeners]) tell(next)
  }

  function dial(): void {
    cancelDial()
    const spinMs = Math.min(spinMsMax, backOffMs(linkBackOff, ++failures, chance))
    cancelDial = clock.after(spinMs, () => {
      const server = order[dials++ % order.length] as string
      const mine = network.dial(machine.name, server)
      wire = mine
      mine.on = {
        messages: messages => machine.enter(() => wire === mine && received(messages)),
        closed: () => machine.enter(() => wire === mine && dropped()),
      }
      // A server with older data refuses us for ever: after so long we have seen nothing (C-85).
      if (clock.nowMs() - answeredMs >= 0.7 * sessionMs) zxid = 0
      mine.send({ session, zxid, timeoutMs: sessionMs } satisfies Hello)
      cancelDial = clock.after(dialMs, dropped)
    })
  }

  /** The connection is given up; what was sent may have been done (C-83). */
  function dropped(): void {
    if (phase === 'lost') return
    wire?.destroy()
    wire = null
    cancelPing()
    const unanswered = [...open.values()]
    open.clear()
    if (phase === 'connected') set('suspended')
    dial()
    for (const one of unanswered) one.fail(isWrite(one.ask) ? 'outcome-unknown' : 'coordination-unreachable')
  }

  function lost(): void {
    if (phase === 'lost') return
    wire?.destroy()
    wire = null
    cancelDial()
    cancelPing()
    const unanswered = [...open.values()]
    open.clear()
    set('lost')
    for (const one of unanswered) one.fail('session-lost')
  }

  function received(messages: unknown[]): void {
    for (const message of messages) {
      if (phase === 'lost') return
      const one = message as Answer | Welcome | Hint
      if ('hint' in one) hinted(one.hint)
      else if ('welcome' in one) welcomed(one)
      else answered(one)
    }
  }

  function welcomed({ welcome, zxid: at }: Welcome): void {
    if (welcome === 'expired') return lost()
    cancelDial()
    failures = 0
    session = welcome.session
    zxid = Math.max(zxid, at)
    answeredMs = clock.nowMs()
    const was = phase
    for (const key of watches.keys()) register(key)
    ping()
    set('connected')
    // Whatever happened meanwhile was not told.
    if (was === 'suspended') for (const key of watches.keys()) hinted(key)
  }

  function answered({ xid: number, zxid: at, value }: Answer): void {
    zxid = Math.max(zxid, at)
    answeredMs = clock.nowMs()
    const one = open.get(number)
    open.delete(number)
    one?.settle(value)
  }

  function hinted(key: string): void {
    const told = watches.get(key)
    if (!told) return
    if (phase === 'connected') register(key)
    for (const tell of [...told]) tell()
  }

  function register(key: string): void {
    const space = key.indexOf(' ')
    const kind = key.slice(0, space) as 'data' | 'children'
    void ask({ ask: 'watch', path: key.slice(space + 1), kind }, operationMs).catch(() => {})
  }

  function ping(): void {
    cancelPing()
    const dueMs = sessionMs / 3
    cancelPing = clock.after(dueMs, () => {
      if (clock.nowMs() - sentMs >= dueMs - 1) void ask({ ask: 'ping' }, operationMs).catch(() => {})
      ping()
    })
  }

  function ask(what: Ask, deadlineMs: number, late: () => void = () => {}): Promise<unknown> {
    if (phase === 'lost') return Promise.reject(faultOf('session-lost', what))
    if (phase !== 'connected' && !(what.ask === 'watch' && session !== null && wire)) {
      return Promise.reject(faultOf('coordination-unreachable', what))
    }
    const number = ++xid
    return new Promise((resolve, reject) => {
      const cancel = clock.after(deadlineMs, () => {
        open.delete(number)
        reject(faultOf(isWrite(what) ? 'outcome-unknown' : 'coordination-unreachable', what))
        late()
      })
      open.set(number, {
        ask: what,
        settle(value) {
          cancel()
          resolve(value)
        },
        fail(code) {
          cancel()
          reject(faultOf(code, what))
        },
      })
      sentMs = clock.nowMs()
      wire?.send({ xid: number, ...what })
    })
  }

  async function write(ops: readonly Op[], deadlineMs: number, late?: () => void): Promise<Written> {
    checkSize(ops)
    const result = (await ask({ ask: 'write', ops }, deadlineMs, late)) as Result
    if (result.is === 'done') return { done: true, paths: result.paths, versions: result.versions }
    if (result.is === 'refused') return { done: false, refused: result.refused }
    throw faultOf('session-lost', { ask: 'write', ops })
  }

  dial()
  machine.onKill(() => {
    wire = null
  })

  return {
    state: () => ({
      session: phase === 'lost' ? null : session,
      timeoutMs: sessionMs,
      phase,
      trouble: troubleOf(phase),
    }),
    changed(listener, signal) {
      if (signal.aborted) return
      listeners.add(listener)
      signal.addEventListener('abort', () => listeners.delete(listener), { once: true })
    },
    read: path => ask({ ask: 'read', path }, operationMs) as ReturnType<Coordinator['read']>,
    write: ops => write(ops, operationMs),
    async beat(path, data, version) {
      // Without an answer for so long nothing holds the connection up as well as a new one would (C-73).
      const written = await write([{ do: 'set', path, data, version }], beatMs, dropped)
      if (written.done) return written.versions[0] ?? version + 1
      throw new MillraceError('session-lost', `${path}: the document of this session is not there as it was left`)
    },
    watch(path, kind, onHint, signal) {
      if (signal.aborted) return
      const key = `${kind} ${path}`
      const told = watches.get(key) ?? new Set()
      watches.set(key, told)
      told.add(onHint)
      if (phase === 'connected') register(key)
      signal.addEventListener(
        'abort',
        () => {
          told.delete(onHint)
          if (told.size === 0 && watches.get(key) === told) watches.delete(key)
        },
        { once: true },
      )
    },
    children: path => ask({ ask: 'children', path }, operationMs) as Promise<string[]>,
    async close() {
      if (phase === 'lost') return
      if (phase === 'connected') await Promise.race([ask({ ask: 'close' }, closeMs).catch(() => {}), over()])
      lost()
    },
  }

  /** A session that has ended is not answered to: its connection is closed. */
  function over(): Promise<void> {
    const mine = wire
    return new Promise(resolve => {
      if (!mine) return resolve()
      const { messages } = mine.on
      mine.on = { messages, closed: () => machine.enter(resolve) }
      return undefined
    })
  }
}

function troubleOf(phase: Phase): Fault | null {
  return phase === 'connected' ? null : { code: 'coordination-unreachable', message: phase, hint: null }
}

const isWrite = (ask: Ask) => ask.ask === 'write' || ask.ask === 'close'

function faultOf(code: FaultCode, what: Ask): MillraceError {
  return new MillraceError(code, `${what.ask} ${'path' in what ? what.path : ''}`, { retryable: true })
}

function checkSize(ops: readonly Op[]): void {
  let all = 0
  for (const op of ops) {
    if (!('data' in op)) continue
    // No byte is longer than three characters of these.
    const bytes = op.data.length * 3 < coordinationBytesMax ? op.data.length : new TextEncoder().encode(op.data).length
    all += bytes
    if (bytes <= coordinationBytesMax && all <= coordinationBytesMax) continue
    throw new MillraceError('too-large', `${op.path}: ${all} bytes, at most ${coordinationBytesMax}`)
  }
}

function shuffled<T>(list: readonly T[], chance: Chance): T[] {
  const all = [...list]
  for (let at = all.length - 1; at > 0; at--) {
    const other = Math.floor(chance() * (at + 1))
    const [a, b] = [all[at] as T, all[other] as T]
    all[at] = b
    all[other] = a
  }
  return all
}
