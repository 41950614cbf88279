import { type Route, route } from './route.ts'

const text = 'text/plain; charset=utf-8'

/** For whoever looks after the process (DESIGN §9): the first two ask nobody who he is. */
export const healthRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/livez',
    role: null,
    summary: 'Whether the event loop turns',
    answers: { 200: null },
    handle: async () => ({ status: 200, type: text, text: 'ok\n' }),
  }),
  route({
    method: 'GET',
    path: '/readyz',
    role: null,
    summary: 'Whether what it needs can be reached',
    answers: { 200: null, 503: null },
    async handle({ parts }) {
      const { ready, why } = parts.ready()
      return { status: ready ? 200 : 503, type: text, text: `${ready ? 'ok' : why}\n` }
    },
  }),
  route({
    method: 'GET',
    path: '/metrics',
    role: 'viewer',
    summary: 'Measures of this process, for Prometheus',
    answers: { 200: null },
    async handle({ parts }) {
      const { type, text: measures } = await parts.metrics()
      return { status: 200, type, text: measures }
    },
  }),
]
