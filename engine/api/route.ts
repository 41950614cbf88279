import type { z } from 'zod'
import type { AuditNotes } from './audit.ts'
import type { Match } from './match.ts'
import type { ApiParts } from './parts.ts'
import type { Seen } from './seen.ts'
import type { Role, Who } from './tokens.ts'
import { nothing } from './words.ts'
import type { Writer } from './writer.ts'

export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'

/** One operation, as it is served and as `/openapi.json` tells it. */
export type Route = {
  method: Method
  /** `/v1/flows/{flow}` */
  path: string
  /** Null: nobody is asked who he is. */
  role: Role | null
  summary: string
  /** `need`: only the leader knows the answer. `prefer`: it knows more; without one the documents speak (C-101). */
  leader: 'any' | 'prefer' | 'need'
  /** How long another process may take for the answer; null: as a read. */
  leaderMs: number | null
  /** Whether `If-Match` and `If-None-Match` are heard. */
  matches: boolean
  query: z.ZodType
  /** Null: none is read. */
  body: z.ZodType | null
  /** Null: not JSON. */
  answers: Readonly<Record<number, z.ZodType | null>>
  handle(ask: Ask): Promise<Answer>
}

export type Ask<Q = unknown, B = unknown> = {
  parts: ApiParts
  params: ReadonlyMap<string, string>
  query: Q
  body: B
  match: Match
  who: Who
  /** Reads of this request. */
  seen: Seen
  writer: Writer
  /** Nobody waits for the answer any more, or the process stops. */
  signal: AbortSignal
  note(notes: Partial<AuditNotes>): void
}

export type Answer =
  | { status: number; body: Record<string, unknown>; tag?: string | null; headers?: Readonly<Record<string, string>> }
  | { status: number; type: string; text: string; headers?: Readonly<Record<string, string>> }

/** With the types of its query and body; what is left out is none. */
export function route<Q = unknown, B = undefined>(
  of: Omit<Route, 'query' | 'body' | 'leader' | 'leaderMs' | 'matches' | 'handle'> & {
    leader?: Route['leader']
    leaderMs?: number
    matches?: boolean
    query?: z.ZodType<Q>
    body?: z.ZodType<B>
    handle(ask: Ask<Q, B>): Promise<Answer>
  },
): Route {
  const { leader = 'any', leaderMs = null, matches = false, query = nothing, body = null } = of
  return { ...of, leader, leaderMs, matches, query, body, handle: ask => of.handle(ask as Ask<Q, B>) }
}
