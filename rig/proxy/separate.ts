/** The proxy in a process of its own: the same face, the work told by messages. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { RigError } from '../errors.ts'
import { proxyReadyMs } from '../limits.ts'
import type { Ports } from '../ports.ts'
import type { Address, FaultProxy, ProxyCount } from '../proxy.ts'
import { proxyEvents } from './events.ts'
import type { Direction, Faults } from './faults.ts'

/** To the process. Each order is answered by `done` with its number. */
export type ProxyOrder = { order: number } & ({ set: Record<Direction, Faults> } | { cut: true })

/** From the process. */
export type ProxyReport =
  | { listening: true }
  | { failed: string }
  | { connection: number }
  | { count: ProxyCount }
  | { done: number; count: ProxyCount }

/** The process ends by itself when this one is gone: its channel closes then, however we ended. */
export async function separateProxy(target: Address, ports: Ports): Promise<FaultProxy> {
  const address = { host: '127.0.0.1', port: await ports.take() }
  const child = fork(new URL('./process.ts', import.meta.url), [target.host, `${target.port}`, `${address.port}`], {
    detached: true,
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit')
  await ready(child)

  const count: ProxyCount = { connections: 0, upBytes: 0, downBytes: 0 }
  const events = proxyEvents()
  const waiting = new Map<number, { resolve(): void; reject(error: Error): void }>()
  let orders = 0

  function counted(next: ProxyCount): void {
    const up = next.upBytes - count.upBytes
    const down = next.downBytes - count.downBytes
    Object.assign(count, next)
    if (up > 0) events.emit('bytes', 'up', up)
    if (down > 0) events.emit('bytes', 'down', down)
  }

  child.on('message', (report: ProxyReport) => {
    if ('count' in report) counted(report.count)
    if ('connection' in report) events.emit('connection', report.connection)
    if ('done' in report) {
      waiting.get(report.done)?.resolve()
      waiting.delete(report.done)
    }
  })
  child.on('exit', () => {
    for (const one of waiting.values()) one.reject(gone(null))
    waiting.clear()
  })

  function tell(what: { set: Record<Direction, Faults> } | { cut: true }): Promise<void> {
    const order: ProxyOrder = { order: ++orders, ...what }
    return new Promise((resolve, reject) => {
      waiting.set(order.order, { resolve, reject })
      child.send(order, cause => {
        if (cause) reject(gone(cause))
      })
    })
  }

  async function stop(): Promise<void> {
    if (child.connected) child.disconnect()
    await ended
  }

  return {
    address,
    pids: child.pid === undefined ? [] : [child.pid],
    count,
    set: (up, down) => tell({ set: { up, down } }),
    heal: () => tell({ set: { up: {}, down: {} } }),
    cut: () => tell({ cut: true }),
    on: events.on,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

function gone(cause: Error | null): RigError {
  return new RigError('rig-died', 'the process of the proxy has ended', { cause: cause ?? undefined })
}

async function ready(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  child.once('error', reject)
  child.once('exit', code => {
    reject(new RigError('rig-start', `the process of the proxy ended before it was ready, exit ${code}`))
  })
  child.once('message', (report: ProxyReport) => {
    if ('failed' in report) reject(new RigError('rig-port', report.failed))
    else resolve()
  })
  const late = setTimeout(() => {
    child.kill('SIGKILL')
    reject(new RigError('rig-ready-timeout', `the process of the proxy is not ready after ${proxyReadyMs} ms`))
  }, proxyReadyMs)
  await promise.finally(() => clearTimeout(late))
}
