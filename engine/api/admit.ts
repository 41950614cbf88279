import type { FastifyRequest } from 'fastify'
import { isLoopback } from '../flow/loopback.ts'
import { refused } from './refusal.ts'
import type { Route } from './route.ts'
import { bearerOf, mayDo, ownerOf, type TokenRoles, type Who } from './tokens.ts'

type Headers = FastifyRequest['headers']
type Asked = { method: string; headers: Headers; address: string }

const reads = ['GET', 'HEAD', 'OPTIONS']

/**
 * Who asks, or why he may not (DESIGN §8): deny by default. Without tokens this machine alone is heard, so a page in a
 * browser on it must not get through: neither under a name of its own that it had point here, nor by a write across
 * sites, which a browser sends without asking.
 */
export function admit(asked: Asked, route: Route | null, auth: TokenRoles | null): Who {
  const { method, headers, address } = asked
  if (auth === null && !isLoopback(hostOf(headers.host))) {
    throw refused('forbidden', 'the Host header names no loopback address', {
      status: 403,
      hint: 'ask 127.0.0.1, or set api.tokens to be asked under other names',
    })
  }
  if (!reads.includes(method) && !isSameSite(headers)) {
    throw refused('forbidden', 'a page of another site may not write here', { status: 403 })
  }
  if (route?.role === null) return { name: '-', role: 'viewer', address }
  const who = whoOf(headers.authorization, address, auth)
  if (route !== null && !mayDo(who, route.role)) {
    throw refused('forbidden', `${who.name} is ${who.role}; this needs ${route.role}`, {
      status: 403,
      hint: `a token with the role ${route.role}`,
    })
  }
  return who
}

function whoOf(header: string | undefined, address: string, auth: TokenRoles | null): Who {
  if (auth === null) return { name: 'local', role: 'admin', address }
  const token = bearerOf(header)
  const owner = token === null ? null : ownerOf(token, auth)
  if (owner) return { ...owner, address }
  const isThere = header !== undefined
  throw refused('unauthenticated', isThere ? 'nobody has this token' : 'a bearer token is needed', {
    status: 401,
    headers: { 'www-authenticate': `Bearer realm="millrace"${isThere ? ', error="invalid_token"' : ''}` },
    hint: 'send the header Authorization: Bearer TOKEN',
  })
}

/** Without its port. */
function hostOf(header: string | undefined): string {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(header ?? '')
  return match?.[1] ?? match?.[2] ?? ''
}

/** A browser says with each write where it comes from; what says nothing is no browser. */
function isSameSite(headers: Headers): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  const { origin } = headers
  if (origin === undefined) return true
  return URL.canParse(origin) && new URL(origin).host === headers.host
}
