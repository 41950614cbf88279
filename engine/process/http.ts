import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Ready = { ready: boolean; why: string | null }

/**
 * `/livez` (the event loop turns), `/readyz` (the parts it needs are reachable), `/metrics` (DESIGN §9). On loopback,
 * on a free port unless one is given. Gives the address and how to close it.
 */
export function startHttp(how: {
  host: string
  port: number
  ready: () => Ready
  metrics: () => Promise<{ type: string; text: string }>
}): Promise<{ url: string; close(): Promise<void> }> {
  // Not imported: an ES import of node:http reads all its names, and some of them load a whole HTTP client (8 MiB).
  const { createServer } = process.getBuiltinModule('node:http')
  const server = createServer((request, response) => {
    answer(how, request, response).catch((error: unknown) => send(response, 500, 'text/plain', `${String(error)}\n`))
  })
  server.unref()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(how.port, how.host, () => {
      const { address, port } = server.address() as AddressInfo
      resolve({
        url: `http://${address.includes(':') ? `[${address}]` : address}:${port}`,
        close: () =>
          new Promise(done => {
            server.close(() => done())
            server.closeAllConnections()
          }),
      })
    })
  })
}

async function answer(
  how: Parameters<typeof startHttp>[0],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? '/').split('?')[0]
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, 'text/plain', 'only GET\n')
  if (path === '/livez') return send(response, 200, 'text/plain', 'ok\n')
  if (path === '/readyz') {
    const { ready, why } = how.ready()
    return send(response, ready ? 200 : 503, 'text/plain', `${ready ? 'ok' : why}\n`)
  }
  if (path !== '/metrics') return send(response, 404, 'text/plain', 'there are /livez, /readyz and /metrics\n')
  const { type, text } = await how.metrics()
  return send(response, 200, type, text)
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'content-type': type }).end(text)
}
