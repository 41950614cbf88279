import type { World } from './world.ts'

/** One end of a connection. Messages of one direction arrive in order, or not at all. */
export type Wire = {
  send(message: unknown): void
  /** Resets the connection: nothing arrives here any more; what was sent may still arrive there. */
  destroy(): void
  isOpen(): boolean
  /** Set by whoever has this end. */
  on: { messages(messages: unknown[]): void; closed(): void }
}

/** How it is from one host to another: `blocked` = nothing arrives, and nobody is told. */
export type Line = { fromMs: number; toMs: number; blocked: boolean; lossShare: number }

export type Network = {
  /** `accept` gets the server's end of each connection. */
  listen(host: string, accept: (wire: Wire, from: string) => void): void
  /** Refuses connections, and resets those that it has. */
  down(host: string): void
  /** The client's end, at once: whether anybody answers is seen later. */
  dial(from: string, to: string): Wire
  line(from: string, to: string): Line
  /** What was held back comes now. */
  mended(from: string, to: string): void
  /** Resets every connection between the two, for both. */
  cutAll(one: string, other: string): void
  /** A host ends: its connections are reset by its kernel. */
  ended(host: string): void
}

type Side = {
  host: string
  open: boolean
  wire: Wire
  peer: Side | null
  /** When the last message to this side arrives. */
  lastMs: number
  pending: { sentMs: number; messages: unknown[] } | null
  held: unknown[]
}

/** A retransmission takes so long. */
const againMs = [200, 1_500] as const

export function makeNetwork(world: World): Network {
  const accepts = new Map<string, (wire: Wire, from: string) => void>()
  const lines = new Map<string, Line>()
  const sides = new Set<Side>()

  function line(from: string, to: string): Line {
    const key = `${from}>${to}`
    let found = lines.get(key)
    if (!found) {
      found = { fromMs: 0.2, toMs: 2, blocked: false, lossShare: 0 }
      lines.set(key, found)
    }
    return found
  }

  function delayMs(from: string, to: string): number {
    const { fromMs, toMs, lossShare } = line(from, to)
    const again = lossShare > 0 && world.happens(lossShare) ? world.spanMs(...againMs) : 0
    return world.spanMs(fromMs, toMs) + again
  }

  function sideOf(host: string): Side {
    const wire: Wire = {
      on: { messages() {}, closed() {} },
      isOpen: () => side.open,
      send(message) {
        if (side.open && side.peer) transmit(side, side.peer, [message], false)
      },
      destroy: () => close(side),
    }
    const side: Side = { host, open: true, wire, peer: null, lastMs: 0, pending: null, held: [] }
    sides.add(side)
    return side
  }

  function close(side: Side): void {
    if (!side.open) return
    side.open = false
    sides.delete(side)
    const { peer } = side
    if (!peer) return
    // What the line held back lies in our own buffer, which goes with the reset, or further on.
    if (peer.held.length > 0 && world.happens(0.5)) peer.held = []
    if (peer.open) transmit(side, peer, [], true)
  }

  function transmit(from: Side, to: Side, messages: unknown[], isReset: boolean): void {
    const nowMs = world.nowMs()
    if (line(from.host, to.host).blocked) {
      // A reset is sent once: nobody repeats it.
      if (!isReset) to.held.push(...messages)
      return
    }
    if (!isReset && to.pending?.sentMs === nowMs) {
      to.pending.messages.push(...messages)
      return
    }
    const pending = isReset ? null : { sentMs: nowMs, messages }
    to.pending = pending
    to.lastMs = Math.max(to.lastMs, nowMs + delayMs(from.host, to.host))
    world.at(to.lastMs, () => {
      if (to.pending === pending) to.pending = null
      arrive(to, messages, isReset)
    })
  }

  function arrive(to: Side, messages: unknown[], isReset: boolean): void {
    if (!to.open) return
    if (messages.length > 0) to.wire.on.messages(messages)
    if (!isReset || !to.open) return
    to.open = false
    sides.delete(to)
    to.wire.on.closed()
  }

  return {
    listen: (host, accept) => void accepts.set(host, accept),
    line,
    dial(from, to) {
      const client = sideOf(from)
      const server = sideOf(to)
      client.peer = server
      server.peer = client
      const accept = accepts.get(to)
      if (accept) accept(server.wire, from)
      else close(server)
      return client.wire
    },
    down(host) {
      accepts.delete(host)
      for (const side of [...sides]) if (side.host === host) close(side)
    },
    mended(from, to) {
      if (line(from, to).blocked) return
      for (const side of [...sides]) {
        if (side.host !== to || side.peer?.host !== from) continue
        const held = side.held
        side.held = []
        side.pending = null
        if (held.length > 0) transmit(side.peer, side, held, false)
        // What is sent to a socket that is not there any more is answered with a reset.
        if (!side.peer.open) transmit(side.peer, side, [], true)
      }
    },
    cutAll(one, other) {
      for (const side of [...sides]) {
        const hosts = [side.host, side.peer?.host]
        if (side.open && side.peer && hosts.includes(one) && hosts.includes(other)) transmit(side.peer, side, [], true)
      }
    },
    ended(host) {
      for (const side of [...sides]) if (side.host === host) close(side)
    },
  }
}
