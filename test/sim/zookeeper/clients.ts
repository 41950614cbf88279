import type { Node, Op } from '../../../engine/ports/coordinator.ts'
import type { Wire } from '../network.ts'
import type { World } from '../world.ts'
import type { Ensemble, Member, Result, Txn } from './ensemble.ts'
import { parentOf } from './tree.ts'

export type Hello = { session: string | null; zxid: number; timeoutMs: number }
export type Request = { xid: number } & (
  | { ask: 'read' | 'children'; path: string }
  | { ask: 'watch'; path: string; kind: 'data' | 'children' }
  | { ask: 'write'; ops: readonly Op[] }
  | { ask: 'ping' | 'close' }
)
export type Answer = { xid: number; zxid: number; value: unknown }
export type Welcome = { welcome: { session: string; timeoutMs: number } | 'expired'; zxid: number }
export type Hint = { hint: string }

/** The clients of one member: answers in the order of the requests, watches that tell once. */
export type ClientHost = {
  accept(wire: Wire, from: string): void
  /** A change that the member has taken. */
  applied(txn: Txn): void
  dropAll(): void
}

type Client = {
  wire: Wire
  host: string
  session: string | null
  queue: { request: Request; value: unknown; ready: boolean }[]
  watches: Set<string>
  heldUntilMs: number
}

export function makeClients(world: World, ensemble: Ensemble, member: Member, newSession: () => string): ClientHost {
  const clients = new Set<Client>()

  function drop(client: Client): void {
    clients.delete(client)
    client.wire.destroy()
  }

  function hello(client: Client, { session, zxid, timeoutMs }: Hello): void {
    // It has seen more than we have: it is to try another (C-85).
    if (zxid > member.applied) return drop(client)
    const welcome = (id: string) => {
      if (!clients.has(client)) return
      client.session = id
      client.wire.send({ welcome: { session: id, timeoutMs }, zxid: member.applied } satisfies Welcome)
    }
    if (session !== null) {
      ensemble.revalidate(member, session, found => {
        if (found) return welcome(session)
        client.wire.send({ welcome: 'expired', zxid: member.applied } satisfies Welcome)
        drop(client)
      })
      return
    }
    const id = newSession()
    const answer = () => welcome(id)
    ensemble.propose(member, {
      session: id,
      ops: [],
      does: 'begin',
      answer,
      member: member.name,
      timeoutMs,
      host: client.host,
    })
  }

  function take(client: Client, request: Request): void {
    if (client.session === null) return
    const { session } = client
    member.touched.add(session)
    const slot = { request, value: null as unknown, ready: request.ask !== 'write' && request.ask !== 'close' }
    client.queue.push(slot)
    if (slot.ready) return flush(client)
    const answer = (result: Result) => {
      if (result.is === 'expired' || result.is === 'moved') return drop(client)
      slot.value = result
      slot.ready = true
      flush(client)
    }
    const ops = request.ask === 'write' ? request.ops : []
    const does = request.ask === 'write' ? 'write' : 'end'
    const forward = () =>
      ensemble.propose(member, { session, ops, does, answer, member: member.name, timeoutMs: 0, host: client.host })
    if (ensemble.hold.matches?.(session, ops)) {
      ensemble.hold.matches = null
      client.heldUntilMs = world.nowMs() + ensemble.hold.ms
      world.note(`${member.name} holds a write of ${session} for ${ensemble.hold.ms.toFixed(0)} ms`)
    }
    if (client.heldUntilMs > world.nowMs()) world.at(client.heldUntilMs, forward)
    else forward()
  }

  /** A read waits behind the writes of its session, so that it sees them. */
  function flush(client: Client): void {
    for (let first = client.queue[0]; first?.ready; first = client.queue[0]) {
      client.queue.shift()
      const { request } = first
      const value = request.ask === 'write' || request.ask === 'close' ? first.value : looked(client, request)
      client.wire.send({ xid: request.xid, zxid: member.applied, value } satisfies Answer)
    }
  }

  function looked(client: Client, request: Request): unknown {
    if (request.ask === 'children') return member.tree.children(request.path)
    if (request.ask === 'watch') client.watches.add(`${request.kind} ${request.path}`)
    if (request.ask !== 'read') return null
    const entry = member.tree.get(request.path)
    if (entry === null) return null
    const { sequence: _, ...node } = entry
    return node satisfies Node
  }

  return {
    accept(wire, host) {
      const client: Client = { wire, host, session: null, queue: [], watches: new Set(), heldUntilMs: 0 }
      clients.add(client)
      let greeted = false
      wire.on = {
        messages(messages) {
          for (const message of messages) {
            if (!member.serves || !clients.has(client)) return drop(client)
            if (greeted) take(client, message as Request)
            else hello(client, message as Hello)
            greeted = true
          }
        },
        closed: () => void clients.delete(client),
      }
    },
    applied({ changes, session, ends }) {
      const keys = new Set<string>()
      for (const { path, was } of changes) {
        if (was === 'counted') continue
        keys.add(`data ${path}`)
        if (was !== 'set') keys.add(`children ${parentOf(path)}`)
      }
      for (const client of clients) {
        for (const key of keys) {
          if (!client.watches.delete(key) || world.happens(ensemble.hints.lossShare)) continue
          client.wire.send({ hint: key } satisfies Hint)
        }
        if (ends && client.session === session) drop(client)
      }
    },
    dropAll() {
      for (const client of [...clients]) drop(client)
    },
  }
}
