import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { MillraceError } from '../errors.ts'
import { isLoopback } from '../flow/loopback.ts'
import {
  apiBodyBytesMax,
  apiCloseMs,
  apiConnectionsMax,
  apiHeaderBytesMax,
  apiHeadersTimeoutMs,
  apiKeepAliveMs,
  apiRequestTimeoutMs,
} from '../limits.ts'
import { admit } from './admit.ts'
import { answerText } from './answerText.ts'
import { askLeader, hopHeader } from './askLeader.ts'
import { type AuditNotes, noNotes } from './audit.ts'
import { checked, jsonOf } from './bodyFaults.ts'
import { etag, matchOf } from './match.ts'
import type { ApiParts } from './parts.ts'
import { frameOf, type Problem, problemOf, problemType, rawProblem } from './problem.ts'
import { refused } from './refusal.ts'
import type { Answer, Ask, Route } from './route.ts'
import { type Seen, startViews, type Views } from './seen.ts'
import type { Who } from './tokens.ts'
import { startWriter, type Writer } from './writer.ts'

/** What is known of a request while it is answered. */
type State = {
  route: Route | null
  who: Who | null
  notes: AuditNotes
  raw: Uint8Array | null
  seen: Seen
}
type Parts = { api: ApiParts; views: Views; writer: Writer; closing: AbortSignal; states: WeakMap<object, State> }

/** Serves the routes; gives where, and how to end it. Rejects with `config-invalid` where it may not or cannot listen. */
export async function startServer(
  api: ApiParts,
  routes: readonly Route[],
): Promise<{ url: string; close(): Promise<void> }> {
  const { host, port } = api.listen
  if (api.auth === null && !isLoopback(host)) {
    throw new MillraceError('config-invalid', `api.listen: ${host} can be reached from other machines (DESIGN §8)`, {
      hint: 'set api.tokens, or listen on 127.0.0.1',
    })
  }
  const closing = new AbortController()
  const writer = startWriter({ ...api, stop: closing.signal })
  const parts: Parts = { api, views: startViews(api), writer, closing: closing.signal, states: new WeakMap() }
  const app = newApp(parts, routes)
  try {
    await app.listen({ host, port })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const hint = 'another process listens there, or the address is of another machine'
    throw new MillraceError('config-invalid', `api.listen: ${why}`, { hint, cause: error })
  }
  const { address, port: taken } = app.server.address() as { address: string; port: number }
  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${taken}`,
    async close() {
      closing.abort()
      const cancel = api.clock.after(apiCloseMs, () => app.server.closeAllConnections())
      await app.close()
      cancel()
    },
  }
}

function newApp(parts: Parts, routes: readonly Route[]): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: apiBodyBytesMax,
    requestTimeout: apiRequestTimeoutMs,
    keepAliveTimeout: apiKeepAliveMs,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 256, ignoreTrailingSlash: false },
    genReqId: raw => idOf(raw.headers['x-request-id'], parts.api),
    http: { maxHeaderSize: apiHeaderBytesMax, headersTimeout: apiHeadersTimeoutMs },
    clientErrorHandler: (error, socket) => {
      if (socket.writable) socket.end(rawProblem(error))
    },
    frameworkErrors: (error, request, reply) => void sendProblem(parts, request, reply, error),
  })
  app.server.maxConnections = apiConnectionsMax
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      done(null, readBody(parts, request, bytes as Buffer))
    } catch (error) {
      done(error as Error)
    }
  })
  app.addHook('onRequest', async (request, reply) => begin(parts, routes, request, reply))
  app.setErrorHandler((error, request, reply) => sendProblem(parts, request, reply, error))
  app.setNotFoundHandler(request => {
    throw noRoute(routes, request)
  })
  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      handler: (request, reply) => serve(parts, route, request, reply),
    })
  }
  return app
}

function idOf(header: string | string[] | undefined, { chance }: ApiParts): string {
  if (typeof header === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(header)) return header
  return Array.from({ length: 16 }, () => Math.floor(chance() * 16).toString(16)).join('')
}

function begin(parts: Parts, routes: readonly Route[], request: FastifyRequest, reply: FastifyReply): void {
  const { url: pattern } = request.routeOptions
  const path = pattern?.replaceAll(/:(\w+)/g, '{$1}')
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const route = routes.find(one => one.path === path && one.method === method) ?? null
  const state: State = { route, who: null, notes: noNotes, raw: null, seen: parts.views.begin() }
  parts.states.set(request, state)
  reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', 'x-request-id': request.id })
  const { headers, socket } = request
  state.who = admit({ method: request.method, headers, address: socket.remoteAddress ?? '-' }, route, parts.api.auth)
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw refused('request-invalid', 'the body is encoded', { status: 415, hint: 'send it without content-encoding' })
  }
}

function readBody(parts: Parts, request: FastifyRequest, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  const state = parts.states.get(request)
  if (state) state.raw = bytes
  return jsonOf(bytes)
}

async function serve(parts: Parts, route: Route, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const state = parts.states.get(request)
  if (!state?.who) throw new TypeError('a request that nobody admitted')
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const signal = AbortSignal.any([gone.signal, parts.closing])
  const asked = await fromLeader(parts, route, request, { state, signal })
  if (asked) return send(parts, { request, reply, state }, asked)
  const ask: Ask = {
    parts: parts.api,
    params: new Map(Object.entries(request.params as Record<string, string>)),
    query: checked(route.query, request.query, 'the query'),
    body: route.body === null ? undefined : checked(route.body, request.body, 'the body'),
    match: matchOf(route.matches ? request.headers : {}),
    who: state.who,
    seen: state.seen,
    writer: parts.writer,
    signal,
    note: notes => {
      state.notes = { ...state.notes, ...notes }
    },
  }
  return send(parts, { request, reply, state }, await route.handle(ask))
}

/** Null: it is answered here. */
async function fromLeader(
  parts: Parts,
  route: Route,
  request: FastifyRequest,
  { state, signal }: { state: State; signal: AbortSignal },
): Promise<Answer | null> {
  const { api } = parts
  if (route.leader === 'any' || api.mode === 'solo' || api.leader()?.here) return null
  const header = (name: string) => {
    const value = request.headers[name]
    return typeof value === 'string' ? value : null
  }
  const passed = {
    method: request.method === 'HEAD' ? 'GET' : request.method,
    url: request.url,
    authorization: header('authorization'),
    ifMatch: header('if-match'),
    ifNoneMatch: header('if-none-match'),
    body: state.raw,
    hop: header(hopHeader),
  }
  const asked = await askLeader(api, passed, { ms: route.leaderMs, signal })
  if ('status' in asked && !(asked.status === 503 && route.leader === 'prefer')) return asked
  // Whoever was asked in the belief that it leads says that it does not: the other has documents of its own.
  if (route.leader === 'prefer' && passed.hop === null) return null
  const { why, sent } = 'status' in asked ? { why: 'who led does not lead any more', sent: false } : asked
  if (sent && route.method !== 'GET') {
    throw refused('outcome-unknown', why, { status: 503, hint: 'it may be done or not; a repeat is safe' })
  }
  throw refused('no-leader', why, { status: 503, headers: { 'retry-after': '1' }, hint: 'ask again soon' })
}

function send(
  parts: Parts,
  { request, reply, state }: { request: FastifyRequest; reply: FastifyReply; state: State },
  answer: Answer,
): FastifyReply {
  audit(parts, request, answer.status, null)
  const frame = frameOf(parts.api, state.seen.asOfMs())
  reply.code(answer.status).headers({
    'x-millrace-leader': frame.leader ?? '',
    'x-millrace-epoch': frame.epoch ?? '',
    'x-millrace-as-of': frame.asOf,
    ...answer.headers,
  })
  if ('text' in answer) return reply.type(answer.type).send(answer.text)
  if (answer.tag !== undefined) reply.header('etag', etag(answer.tag))
  return reply.type('application/json; charset=utf-8').send(answerText({ ...frame, ...answer.body }))
}

function sendProblem(parts: Parts, request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  const problem: Problem = problemOf(error, request.id)
  const state = parts.states.get(request)
  audit(parts, request, problem.status, problem.code)
  if (problem.code === 'internal')
    parts.api.log.error('a request could not be answered', { err: error, req: request.id })
  const frame = frameOf(parts.api, state?.seen.asOfMs() ?? parts.api.clock.wallMs())
  return reply
    .code(problem.status)
    .headers(problem.headers)
    .type(problemType)
    .send(answerText({ ...problem.body, ...frame }))
}

/** 405 where the path is served with another verb, else 404. */
function noRoute(routes: readonly Route[], request: FastifyRequest): MillraceError {
  const [path = ''] = request.url.split('?')
  const verbs = routes
    .filter(route => new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
    .map(route => route.method)
  if (verbs.length === 0) {
    return new MillraceError('not-found', 'there is no such path', { hint: '/openapi.json lists them all' })
  }
  const allow = [...new Set(verbs.flatMap(verb => (verb === 'GET' ? ['GET', 'HEAD'] : [verb])))].join(', ')
  return refused('request-invalid', `${request.method} is not served here`, {
    status: 405,
    headers: { allow },
    hint: `this path takes ${allow}`,
  })
}

/** C-103. When the answer is known, not when it has arrived: whoever hangs up before it has written all the same. */
function audit(parts: Parts, request: FastifyRequest, status: number, code: string | null): void {
  if (request.method === 'GET' || request.method === 'HEAD') return
  const state = parts.states.get(request)
  const ifMatch = request.headers['if-match']
  parts.api.audit({
    audit: true,
    who: state?.who?.name ?? '-',
    role: state?.who?.role ?? '-',
    address: request.socket.remoteAddress ?? '-',
    verb: request.method,
    route: state?.route?.path ?? null,
    path: (request.url.split('?')[0] ?? '').slice(0, 512),
    ifMatch: ifMatch?.slice(0, 128) ?? null,
    ...(state?.notes ?? noNotes),
    status,
    code,
    requestId: request.id,
  })
}
