import { once } from 'node:events'
import { request as ask, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** Stands between a command and an API, and is told of each request before it goes on, as `GET /v1/flows`. */
export async function askedBetween(t: TestContext, url: string, tell: (request: string) => void): Promise<string> {
  const server = createServer((request, response) => {
    tell(`${request.method} ${request.url}`)
    const on = ask(new URL(request.url ?? '/', url), {
      method: request.method ?? 'GET',
      headers: { ...request.headers, host: new URL(url).host },
    })
    on.on('response', answer => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    request.pipe(on)
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
