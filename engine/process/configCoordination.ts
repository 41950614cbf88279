import { z } from 'zod'
import {
  sessionTimeoutMs,
  sessionTimeoutMsMax,
  sessionTimeoutMsMin,
  startTimeoutSeconds,
  startTimeoutSecondsMax,
} from '../limits.ts'
import type { SecretPlace } from '../ports/secrets.ts'
import { placeOf, placeWords } from './configPlace.ts'

/** `coordination:` (COORDINATION §9). `zookeeper` is `HOST:PORT,HOST:PORT/CHROOT`, checked. */
export type CoordinationSettings = {
  zookeeper: string
  sessionMs: number
  startTimeoutSeconds: number
  auth: SecretPlace | null
}

const form = 'HOST:PORT,HOST:PORT/PATH'
const example = 'as in: zk1:2181,zk2:2181,zk3:2181/millrace'

const zookeeper = z
  .string()
  .check(({ value, issues }) => {
    const fault = connectFault(value)
    if (fault === null) return
    const params = { expected: form, hint: example, ...fault }
    issues.push({ code: 'custom', input: value, params, message: `expected ${params.expected}` })
  })
  .describe(form)

/** What is wrong with the text; null: nothing. */
function connectFault(text: string): { rule?: string; expected?: string; hint?: string } | null {
  if (/^\w[\w+.-]*:\/\//.test(text)) return { hint: `without the scheme, ${example}` }
  const slash = text.indexOf('/')
  const chroot = slash < 0 ? '' : text.slice(slash)
  const servers = (slash < 0 ? text : text.slice(0, slash)).split(',')
  if (servers.some(server => (server.match(/:/g) ?? []).length > 1 || /[[\]]/.test(server))) {
    const hint = 'the library reads no IPv6 address: give the server a name, or go through a local TLS tunnel'
    return { rule: 'C-81', expected: 'names or IPv4 addresses', hint }
  }
  if (servers.some(server => !isServer(server))) return {}
  return chrootFault(chroot)
}

function isServer(text: string): boolean {
  const match = /^[A-Za-z0-9._-]+:(\d{1,5})$/.exec(text)
  const port = Number(match?.[1])
  return port >= 1 && port <= 65_535
}

/** Everything of a fleet is below it: without one two fleets would share a tree (C-30). */
function chrootFault(chroot: string): { rule: string; expected: string; hint: string } | null {
  const rule = 'C-30'
  if (chroot === '' || chroot === '/') {
    const hint = `what a fleet writes is below a path of its own, ${example}`
    return { rule, expected: `a path behind the servers`, hint }
  }
  const parts = chroot.slice(1).split('/')
  if (parts[0] === 'zookeeper') {
    return { rule, expected: 'another path than /zookeeper', hint: "that one is the server's own" }
  }
  if (parts.every(part => /^[A-Za-z0-9._-]+$/.test(part) && part !== '.' && part !== '..')) return null
  const hint = 'letters, digits and . _ - between single slashes, none at the end'
  return { rule, expected: 'a path such as /millrace', hint }
}

export const coordinationWords = z
  .strictObject({
    zookeeper,
    sessionMs: z
      .int()
      .refine(ms => ms >= sessionTimeoutMsMin && ms <= sessionTimeoutMsMax, {
        params: { rule: 'C-4', expected: `a whole number from ${sessionTimeoutMsMin} to ${sessionTimeoutMsMax}` },
      })
      .describe('a whole number')
      .default(sessionTimeoutMs),
    startTimeoutSeconds: z.int().min(1).max(startTimeoutSecondsMax).default(startTimeoutSeconds),
    auth: placeWords.optional(),
  })
  .describe('a mapping with zookeeper')

export function coordinationOf({
  zookeeper,
  sessionMs,
  startTimeoutSeconds,
  auth,
}: z.output<typeof coordinationWords>): CoordinationSettings {
  return { zookeeper, sessionMs, startTimeoutSeconds, auth: placeOf(auth) }
}
