/**
 * A TCP proxy with faults, for a test that wants a bad line. It cannot lose a packet or a SYN: a connect
 * that hangs comes from `hangingAddress` in `proxy/hanging.ts`.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { RigError } from './errors.ts'
import type { Ports } from './ports.ts'
import { type ProxyEvents, type ProxyListener, proxyEvents } from './proxy/events.ts'
import type { Direction, Faults } from './proxy/faults.ts'
import { type Pump, pump } from './proxy/pump.ts'
import { separateProxy } from './proxy/separate.ts'

export interface Address {
  host: string
  port: number
}

export interface ProxyCount {
  /** Accepted since the start, refused ones among them. */
  connections: number
  /** Bytes that went through to the target, and back to the clients. */
  upBytes: number
  downBytes: number
}

export interface FaultProxy extends AsyncDisposable {
  address: Address
  /** Of the separate process; empty when the proxy lives in this one. */
  pids: number[]
  /** Kept up to date; of a separate process, up to 50 ms late, but exact after each awaited call. */
  count: Readonly<ProxyCount>
  /** Resolves when the faults hold, for live connections too. */
  set(up: Faults, down: Faults): Promise<void>
  /** No fault any more; what was held goes on in order. */
  heal(): Promise<void>
  /** RST to both sides of every live connection. */
  cut(): Promise<void>
  /** Returns the call that ends the listening. */
  on<E extends keyof ProxyEvents>(event: E, listener: ProxyListener<E>): () => void
  stop(): Promise<void>
}

export interface ProxyOptions {
  ports: Ports
  /** In a process of its own, so that it does not share the event loop of the client that is measured. */
  separate?: boolean
  /** 0 ≤ x < 1, for `jitterMs`; only without `separate`. */
  chance?: () => number
}

/** Opens a proxy on 127.0.0.1 before `target` has to exist. Rejects with `rig-port` when its port was taken meanwhile. */
export async function proxy(target: Address, options: ProxyOptions): Promise<FaultProxy> {
  if (options.separate) return separateProxy(target, options.ports)
  return localProxy(target, await options.ports.take(), options.chance ?? Math.random)
}

interface Pair {
  apply(): void
  cut(): void
  destroy(): void
}

/** The proxy itself, on a given port. */
export async function localProxy(target: Address, port: number, chance: () => number): Promise<FaultProxy> {
  let faults: Record<Direction, Faults> = { up: {}, down: {} }
  const count: ProxyCount = { connections: 0, upBytes: 0, downBytes: 0 }
  const events = proxyEvents()
  const pairs = new Set<Pair>()

  const passed = (direction: Direction) => (bytes: number) => {
    count[`${direction}Bytes`] += bytes
    events.emit('bytes', direction, bytes)
  }

  // Paused until the target has accepted: until then no byte can be said to have gone through.
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, client => {
    count.connections++
    if (faults.up.refuse) client.resetAndDestroy()
    else join(client, connect({ ...target, family: 4, allowHalfOpen: true, noDelay: true }))
    events.emit('connection', count.connections)
  })

  function join(client: Socket, far: Socket): void {
    const pumps: Partial<Record<Direction, Pump>> = {}
    const pair: Pair = {
      apply() {
        pumps.up?.apply(faults.up)
        pumps.down?.apply(faults.down)
      },
      cut() {
        client.resetAndDestroy()
        far.resetAndDestroy()
      },
      destroy() {
        client.destroy()
        far.destroy()
      },
    }
    pairs.add(pair)
    far.once('connect', () => {
      if (faults.down.refuse || client.destroyed) return pair.cut()
      pumps.up = pump(client, far, faults.up, { chance, passed: passed('up'), cut: pair.cut })
      pumps.down = pump(far, client, faults.down, { chance, passed: passed('down'), cut: pair.cut })
    })
    // Before the pumps are there, a target that refuses is a client that is reset; after that the pumps pass it on.
    far.on('error', () => {
      if (!pumps.up) client.resetAndDestroy()
    })
    client.on('error', () => {
      if (!pumps.up) far.resetAndDestroy()
    })
    const closed = () => {
      if (!client.destroyed || !far.destroyed) return
      pumps.up?.stop()
      pumps.down?.stop()
      pairs.delete(pair)
    }
    client.on('close', closed)
    far.on('close', closed)
  }

  await listening(server, port)

  const use = async (up: Faults, down: Faults) => {
    faults = { up, down }
    for (const pair of pairs) pair.apply()
  }
  const stop = () => stopped(server, pairs)
  return {
    address: { host: '127.0.0.1', port },
    pids: [],
    count,
    set: use,
    heal: () => use({}, {}),
    async cut() {
      for (const pair of pairs) pair.cut()
    },
    on: events.on,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', cause => {
      reject(new RigError('rig-port', `the proxy cannot listen on ${port}: ${cause.message}`, { cause }))
    })
    server.listen({ host: '127.0.0.1', port }, resolve)
  })
}

function stopped(server: Server, pairs: Set<Pair>): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    for (const pair of pairs) pair.destroy()
  })
}
