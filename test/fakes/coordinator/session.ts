import type { Change, Tree, TreeView } from '../../../engine/adapters/memory/tree.ts'
import { MillraceError } from '../../../engine/errors.ts'
import { refuseTooLarge } from '../../../engine/flow/refuseTooLarge.ts'
import { coordinationTimeoutMs } from '../../../engine/limits.ts'
import type { Chance, Clock } from '../../../engine/ports/clock.ts'
import type { Coordinator, Phase } from '../../../engine/ports/coordinator.ts'
import type { Vices } from './vices.ts'

export type Asked = { session: Coordinator; do: 'read' | 'children' | 'write' | 'beat'; paths: readonly string[] }

/** What all sessions share. */
export type Line = {
  clock: Clock
  tree: Tree
  timeoutMs: number
  chance: Chance
  delayMs(): number
  vice: Vices
  seen(asked: Asked): void
  /** No server before that. */
  awayUntilMs(): number
}

export type FakeSession = {
  coordinator: Coordinator
  suspend(ms: number): void
  mute(ms: number): void
  expire(): void
  staleReads(ms: number): void
  serversGone(): void
}

type Open = { unanswered(): void }
type Watch = { path: string; kind: Change['kind']; onHint: () => void; signal: AbortSignal; due: boolean }

const beatsInSession = 5
/** A reconnection takes up to so long where anything takes time (C-74). */
const reconnectMsMax = 500

export function fakeSession(line: Line, name: string): FakeSession {
  const { clock, tree } = line
  const listeners = new Set<(phase: Phase) => void>()
  const open = new Set<Open>()
  const standing = new Set<Watch>()
  const ways = { up: way(line), down: way(line) }
  let phase: Phase = 'connecting'
  /** Of the connection in use: what belongs to an earlier one is lost. */
  let connection = 0
  let sinceMs = clock.nowMs()
  let awayUntilMs = 0
  let mutedUntilMs = 0
  let over = false
  let cancelExpiry = () => {}
  let stale: TreeView | null = null

  function to(next: Phase): void {
    if (phase === next || phase === 'lost') return
    phase = next
    if (next === 'suspended') sinceMs = clock.nowMs()
    for (const listener of [...listeners]) listener(next)
  }
  const isMute = () => clock.nowMs() < mutedUntilMs

  /** The server hears nothing from now on. */
  function unheard(): void {
    cancelExpiry()
    if (clock.nowMs() < line.awayUntilMs()) return
    cancelExpiry = clock.after(line.timeoutMs, end)
  }
  function end(): void {
    if (over) return
    over = true
    tree.end(name)
  }

  function dropped(): void {
    if (phase === 'lost') return
    connection++
    if (phase === 'connected') to('suspended')
    unheard()
    for (const one of [...open]) one.unanswered()
    reconnect()
  }
  function reconnect(): void {
    const mine = connection
    const again = Math.max(awayUntilMs, mutedUntilMs, line.awayUntilMs())
    if (again === Number.POSITIVE_INFINITY) return
    const slow = line.delayMs() === 0 ? 0 : Math.floor(line.chance() * reconnectMsMax)
    clock.after(Math.max(0, again - clock.nowMs()) + slow, () => {
      if (mine !== connection || phase === 'lost') return
      if (clock.nowMs() < Math.max(awayUntilMs, mutedUntilMs, line.awayUntilMs())) return reconnect()
      welcome()
    })
  }
  function welcome(): void {
    if (over) return lost()
    cancelExpiry()
    to('connected')
    flush()
  }
  function lost(): void {
    connection++
    to('lost')
    standing.clear()
    for (const one of [...open]) one.unanswered()
  }

  function hint(watches: Watch[]): void {
    for (const watch of line.vice.shuffled(watches)) {
      if (line.vice.hintDropped()) continue
      const mine = connection
      later(line, () => {
        if (watch.signal.aborted || !standing.has(watch)) return
        if (mine === connection) watch.onHint()
        else watch.due = true
      })
    }
  }
  /** What could not be told. */
  function flush(): void {
    if (phase !== 'connected' || stale) return
    const due = [...standing].filter(watch => watch.due)
    for (const watch of due) watch.due = false
    hint(due)
  }
  tree.onChange(change => {
    const told = [...standing].filter(watch => watch.path === change.path && watch.kind === change.kind)
    if (phase === 'connected' && !stale && !isMute()) return hint(told)
    for (const watch of told) watch.due = true
    return undefined
  })

  function ask<T>(what: Asked['do'], paths: readonly string[], work: () => T): Promise<T> {
    const told = `${what} ${paths.join(', ')}`
    if (phase === 'lost') return Promise.reject(new MillraceError('session-lost', `${told}: the session is over`))
    if (phase !== 'connected') return Promise.reject(unreachable(told))
    const asked: Asked = { session: coordinator, do: what, paths }
    const vice = line.vice.of(asked)
    const mine = connection
    const here = () => mine === connection && !isMute()
    return new Promise<T>((resolve, reject) => {
      const settle = (act: () => void) => {
        if (!open.delete(one)) return
        cancel()
        act()
      }
      const one: Open = { unanswered: () => settle(() => reject(unanswered(what, told, phase))) }
      const ms = what === 'beat' ? Math.floor(line.timeoutMs / beatsInSession) : coordinationTimeoutMs
      const cancel = clock.after(ms, () => {
        one.unanswered()
        if (mine === connection) dropped()
      })
      open.add(one)
      ways.up(() => {
        if (!here()) return
        if (over) return lost()
        if (vice && 'fail' in vice) return settle(() => reject(new MillraceError(vice.fail, `${told}: told to fail`)))
        if (vice?.lose === 'request') return dropped()
        line.seen(asked)
        const done = outcome(work)
        if (what === 'write' || what === 'beat') fresh()
        if (vice?.lose === 'answer') return dropped()
        ways.down(() => {
          if (here()) settle(() => done(resolve, reject))
        })
      })
    })
  }
  function fresh(): void {
    if (!stale) return
    stale = null
    flush()
  }
  const unreachable = (told: string) =>
    new MillraceError('coordination-unreachable', `${told}: ${trouble().message}`, { retryable: true })
  const trouble = () => ({
    code: 'coordination-unreachable' as const,
    message: `no connection for ${Math.floor((clock.nowMs() - sinceMs) / 1000)} s: fake:2181 (away)`,
    hint: null,
  })
  const view = () => stale ?? tree

  const coordinator: Coordinator = {
    state: () => ({
      session: phase === 'connected' || phase === 'suspended' ? name : null,
      timeoutMs: line.timeoutMs,
      phase,
      trouble: phase === 'connecting' || phase === 'suspended' ? trouble() : null,
    }),
    changed(listener, signal) {
      if (signal.aborted) return
      listeners.add(listener)
      signal.addEventListener('abort', () => listeners.delete(listener), { once: true })
    },
    read: path => ask('read', [path], () => view().read(path)),
    children: path => ask('children', [path], () => view().children(path)),
    async write(ops) {
      refuseTooLarge(ops)
      const paths = ops.map(op => op.path)
      return ask('write', paths, () => tree.write(ops, name))
    },
    beat: (path, data, version) =>
      ask('beat', [path], () => {
        const written = tree.write([{ do: 'set', path, data, version }], name)
        if (written.done) return written.versions[0] ?? version + 1
        throw new MillraceError('session-lost', `${path}: the document of this session is not there as it was left`)
      }),
    watch(path, kind, onHint, signal) {
      if (signal.aborted || phase === 'lost') return
      const watch: Watch = { path, kind, onHint, signal, due: phase !== 'connected' }
      standing.add(watch)
      signal.addEventListener('abort', () => standing.delete(watch), { once: true })
    },
    async close() {
      if (phase === 'lost') return
      const heard = phase === 'connected' && !isMute()
      lost()
      if (heard) await new Promise<void>(resolve => later(line, resolve)).then(end)
    },
  }

  later(line, () => {
    if (clock.nowMs() < line.awayUntilMs()) return reconnect()
    return welcome()
  })
  return {
    coordinator,
    suspend(ms) {
      awayUntilMs = clock.nowMs() + ms
      dropped()
    },
    mute(ms) {
      mutedUntilMs = clock.nowMs() + ms
      unheard()
      const mine = connection
      if (ms === Number.POSITIVE_INFINITY) return
      clock.after(ms, () => {
        if (mine !== connection || over) return
        cancelExpiry()
        flush()
      })
    },
    expire() {
      end()
      if (phase === 'connected') later(line, lost)
    },
    staleReads(ms) {
      const then = tree.snapshot()
      stale = then
      clock.after(ms, () => {
        if (stale === then) fresh()
      })
    },
    serversGone() {
      dropped()
      cancelExpiry()
      clock.after(line.awayUntilMs() - clock.nowMs(), () => {
        if (phase === 'suspended' && !over) unheard()
      })
    },
  }
}

function unanswered(what: Asked['do'], told: string, phase: Phase): MillraceError {
  if (what === 'write' || what === 'beat') return new MillraceError('outcome-unknown', `${told}: no answer`)
  return new MillraceError(phase === 'lost' ? 'session-lost' : 'coordination-unreachable', `${told}: no answer`)
}

/** What the work gives or throws, to be told later. */
function outcome<T>(work: () => T): (resolve: (value: T) => void, reject: (error: unknown) => void) => void {
  try {
    const value = work()
    return resolve => resolve(value)
  } catch (error) {
    return (_, reject) => reject(error)
  }
}

function later(line: Line, act: () => void): void {
  const ms = line.delayMs()
  if (ms === 0) queueMicrotask(act)
  else line.clock.after(ms, act)
}

/** One way of a connection: what is sent first arrives first, each with a delay of its own. */
function way(line: Line): (act: () => void) => void {
  const queue: (() => void)[] = []
  let earliestMs = 0
  return act => {
    queue.push(act)
    const next = () => queue.shift()?.()
    const ms = line.delayMs()
    const atMs = Math.max(earliestMs, line.clock.nowMs() + ms)
    earliestMs = atMs
    if (atMs <= line.clock.nowMs()) queueMicrotask(next)
    else line.clock.after(atMs - line.clock.nowMs(), next)
  }
}
