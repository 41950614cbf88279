import { z } from 'zod'
import { isLoopback } from '../flow/loopback.ts'
import type { SecretPlace } from '../ports/secrets.ts'
import type { HostPort } from './configAddress.ts'
import { notYet } from './configIssues.ts'
import { placeOf, placeWords } from './configPlace.ts'

/** `api:` (DESIGN §8). Port 0: a free one. `tokens` null: nobody is asked who he is, and only this machine may ask. */
export type ApiSettings = { listen: HostPort; tokens: SecretPlace | null }

const listenDefault = '127.0.0.1:8080'

const listen = z
  .custom<string>(text => typeof text === 'string' && listenOf(text) !== null, {
    params: { expected: 'HOST:PORT', hint: `as in: ${listenDefault}` },
  })
  .describe('HOST:PORT')

export const apiWords = z
  .strictObject({
    listen: listen.default(listenDefault),
    tokens: placeWords.optional(),
    oidc: z.never({ error: notYet }).optional(),
  })
  .refine(({ listen, tokens }) => tokens !== undefined || isLoopback(listenOf(listen)?.host ?? 'localhost'), {
    // Also where another key is at fault: all is said at once.
    when: ({ value }) => typeof value === 'object' && value !== null && typeof (value as Words).listen === 'string',
    path: ['listen'],
    params: {
      expected: 'an address of this machine alone, or tokens beside it',
      hint: `whoever reaches it could change every flow: add tokens: {file: PATH}, or listen on ${listenDefault}`,
    },
  })
  .describe('a mapping with listen and tokens')

type Words = { listen?: unknown }

export function apiOf({ listen, tokens }: z.output<typeof apiWords>): ApiSettings {
  return { listen: listenOf(listen) ?? { host: '127.0.0.1', port: 0 }, tokens: placeOf(tokens) }
}

/** As an address of a broker, and with port 0. */
function listenOf(text: string): HostPort | null {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  return host === undefined || port > 65_535 ? null : { host, port }
}
