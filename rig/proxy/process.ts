/** What runs in the separate process: `node process.ts <target host> <target port> <own port>`, with a channel. */
import { localProxy, type ProxyCount } from '../proxy.ts'
import type { ProxyOrder, ProxyReport } from './separate.ts'

/** The owner hears of the count so often, not at each piece: the messages must not be the load that is measured. */
const countEveryMs = 50
/**
 * Node allocates for every read, and V8 lets tens of megabytes of that lie before it looks (it sees only the small
 * objects): a process that holds 1 MiB would show 45.
 */
const collectEveryBytes = 4 * 1024 * 1024

const [host = '', targetPort, ownPort] = process.argv.slice(2)

function report(what: ProxyReport): void {
  if (process.connected) process.send?.(what)
}

process.on('disconnect', () => process.exit(0))

const opened = await localProxy({ host, port: Number(targetPort) }, Number(ownPort), Math.random).catch(
  async (error: Error) => {
    await new Promise(sent => process.send?.({ failed: error.message } satisfies ProxyReport, sent))
    return process.exit(1)
  },
)

let uncollectedBytes = 0
opened.on('bytes', (_, bytes) => {
  uncollectedBytes += bytes
  if (uncollectedBytes < collectEveryBytes) return
  uncollectedBytes = 0
  globalThis.gc?.({ type: 'minor' })
})

let told: ProxyCount = { ...opened.count }

opened.on('connection', connection => report({ connection }))

setInterval(() => {
  const { connections, upBytes, downBytes } = opened.count
  if (connections === told.connections && upBytes === told.upBytes && downBytes === told.downBytes) return
  told = { ...opened.count }
  report({ count: told })
}, countEveryMs)

process.on('message', async (order: ProxyOrder) => {
  if ('set' in order) await opened.set(order.set.up, order.set.down)
  else await opened.cut()
  report({ done: order.order, count: opened.count })
})

report({ listening: true })
