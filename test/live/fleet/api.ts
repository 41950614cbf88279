/** What the API answered: status, its ETag and its body. */
export type Answered = { status: number; etag: string | null; body: Record<string, unknown> }

export type FleetApi = {
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>
  /** As `ask`, and rejects when it is refused. */
  done(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Record<string, unknown>>
  workers(): Promise<WorkerSeen[]>
  /** Asks until what is seen fits; the last thing that was seen is in the error. */
  until<T>(ask: (api: FleetApi) => Promise<T>, fits: (seen: T) => boolean, withinMs?: number): Promise<T>
}

export type WorkerSeen = {
  id: string
  /** Null: it is not registered. */
  record: { state: string } | null
  state: string | null
  heldState: string | null
  units: number | null
  held: number
  /** Drained, and nothing is left on it. */
  released: boolean | null
  wanted: { epoch: number; generation: number } | null
  applied: { epoch: number; generation: number } | null
}

const againMs = 50

/** The API of a controller at `url`, as a client on this machine uses it. */
export function fleetApi(url: () => string, signal: AbortSignal, askMs = 10_000): FleetApi {
  const api: FleetApi = {
    async ask(method, path, body, headers = {}) {
      const response = await fetch(`${url()}${path}`, {
        method,
        headers: {
          // Each over a connection of its own: one that is kept may be closed by the server just as it is used again.
          connection: 'close',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.any([signal, AbortSignal.timeout(askMs)]),
      })
      const text = await response.text()
      return {
        status: response.status,
        etag: response.headers.get('etag'),
        body: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : { text },
      }
    },
    async done(method, path, body, headers) {
      const { status, body: found } = await api.ask(method, path, body, headers)
      if (status >= 400) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(found)}`)
      return found
    },
    workers: async () => (await api.done('GET', '/v1/workers'))['workers'] as WorkerSeen[],
    async until(ask, fits, withinMs = 60_000) {
      const untilMs = performance.now() + withinMs
      for (let seen: unknown = null; ; ) {
        try {
          const found = await ask(api)
          if (fits(found)) return found
          seen = found
        } catch (error) {
          if (signal.aborted) throw error
          seen = error
        }
        if (performance.now() > untilMs) {
          throw new Error(
            `not within ${withinMs} ms; seen last: ${seen instanceof Error ? seen.stack : JSON.stringify(seen)}`,
          )
        }
        await new Promise(resolve => setTimeout(resolve, againMs))
      }
    },
  }
  return api
}
