import { z } from 'zod'
import { isLoopback } from '../flow/loopback.ts'
import type { SecretPlace } from '../ports/secrets.ts'
import { addressOf } from './configAddress.ts'
import { type ConfigFault, type ConfigPath, pathText, shown } from './configFault.ts'
import { notYet } from './configIssues.ts'
import type { ConfigText } from './configYaml.ts'

const mechanisms = ['none', 'tls', 'plain', 'scram-sha-256', 'scram-sha-512'] as const
const mechanismsLater: readonly unknown[] = ['gssapi', 'delegation-token', 'aws-msk-iam']

export type Mechanism = (typeof mechanisms)[number]

/** `security:` of a cluster (CREDENTIALS §2). `secret`: of the mechanism. Files are named as they stand in the text. */
export type SecuritySettings = {
  mechanism: Mechanism
  secret: SecretPlace | null
  tls: null | { ca: SecretPlace | null; certificate: SecretPlace | null; serverName: string | null }
  /** K-3: PLAIN goes to brokers on this machine only, for it goes in clear. */
  loopbackOnly: boolean
}

const noSecurity: SecuritySettings = { mechanism: 'none', secret: null, tls: null, loopbackOnly: false }

const later = z.never({ error: notYet }).optional()
const text = z.string().min(1)
const place = z
  .strictObject({
    file: text.describe('the path of a file').optional(),
    env: text.describe('the name of a variable').optional(),
  })
  .describe('{file: PATH} or {env: NAME}')

export const securityWords = z
  .strictObject({
    mechanism: z
      .enum(mechanisms, { error: ({ input }) => (mechanismsLater.includes(input) ? notYet : undefined) })
      .default('none'),
    file: text.describe('the path of a file').optional(),
    env: text.describe('the name of a variable').optional(),
    tls: z
      .union([
        z.boolean(),
        z.strictObject({ ca: place.optional(), certificate: place.optional(), serverName: text.optional() }),
      ])
      .describe('true, false or {ca, certificate, serverName}')
      .optional(),
    allowPlaintext: z.boolean().default(false),
    secret: later,
    rotate: later,
    serviceName: later,
    principal: later,
    token: later,
    issuer: later,
  })
  .describe('a mapping with mechanism and tls')

export function securityOf(words: z.output<typeof securityWords> | undefined): SecuritySettings {
  if (words === undefined) return noSecurity
  const { mechanism, tls = mechanism === 'tls', allowPlaintext } = words
  const given = typeof tls === 'object' ? tls : {}
  return {
    mechanism,
    secret: placeOf(words),
    tls:
      tls === false
        ? null
        : { ca: placeOf(given.ca), certificate: placeOf(given.certificate), serverName: given.serverName ?? null },
    loopbackOnly: mechanism === 'plain' && tls === false && !allowPlaintext,
  }
}

function placeOf(words: { file?: string | undefined; env?: string | undefined } | undefined): SecretPlace | null {
  if (words?.file !== undefined) return { file: words.file }
  return words?.env === undefined ? null : { env: words.env }
}

type Words = Record<string, unknown>

/**
 * What the parts of `security:` say against each other and against `brokers` (CREDENTIALS §2, K-3), also where other
 * parts are at fault: all is said at once. `at` = where `security:` stands.
 */
export function securityFaults(
  value: unknown,
  of: { brokers: unknown; at: ConfigPath; text: ConfigText },
): ConfigFault[] {
  if (!isMapping(value)) return []
  const { mechanism = 'none', tls } = value
  const found: ConfigFault[] = []
  const tell = (
    path: ConfigPath,
    fault: Omit<ConfigFault, 'path' | 'line' | 'column'>,
    side: 'key' | 'value' = 'value',
  ) => {
    const whole = [...of.at, ...path]
    found.push({ path: pathText(whole), ...of.text.placeOf(whole, side), ...fault })
  }
  const given = ['secret', 'file', 'env'].filter(key => value[key] !== undefined)
  if (given.length > 1) {
    const hint = 'a secret is in one place'
    tell(given.slice(-1), { found: given.join(' and '), expected: 'one of them', hint }, 'key')
  } else if (given.length === 0 && mechanism !== 'none' && isOurs(mechanism)) {
    const hint =
      mechanism === 'tls' ? 'they name the client certificate and its key' : 'they name where user and password are'
    tell([], { found: 'neither', expected: `file or env for mechanism ${mechanism}`, hint }, 'key')
  } else if (given.length > 0 && mechanism === 'none') {
    const hint = `mechanism says how it is used: ${mechanisms.slice(1).join(', ')}`
    tell(given, { found: `${given[0]} for no mechanism`, expected: 'mechanism beside it', hint }, 'key')
  }
  if (mechanism === 'tls' && tls === false) {
    tell(['tls'], {
      found: 'false',
      expected: 'true, or nothing',
      hint: 'mechanism tls is a certificate that TLS shows',
    })
  }
  const inTls = isMapping(tls) ? tls : {}
  if (mechanism === 'tls' && inTls['certificate'] !== undefined) {
    const hint = 'the certificate of mechanism tls is in file or env beside it'
    tell(['tls', 'certificate'], { found: 'a second certificate', expected: 'nothing', hint }, 'key')
  }
  for (const key of ['ca', 'certificate']) {
    const one = inTls[key]
    if (!isMapping(one) || 'file' in one !== 'env' in one) continue
    const expected = 'file or env'
    tell(['tls', key], { found: 'file' in one ? 'both file and env' : 'neither', expected, hint: null }, 'key')
  }
  for (const path of [[], ['tls', 'ca'], ['tls', 'certificate']]) {
    const name = valueAt(value, [...path, 'env'])
    if (typeof name !== 'string' || /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) continue
    // Somebody may have written the secret itself.
    const hint = 'the value is in the variable, never in this file'
    tell([...path, 'env'], { found: 'a hidden value', expected: 'the name of a variable', hint })
  }
  const isClear = mechanism === 'plain' && (tls === undefined || tls === false) && value['allowPlaintext'] !== true
  const far = isClear ? farBroker(of.brokers) : null
  if (far !== null) {
    const hint = `the password would go to ${shown(far, [])} in clear: set tls: true, or allowPlaintext: true`
    tell(['mechanism'], { rule: 'K-3', found: 'plain without TLS', expected: 'TLS, or brokers on this machine', hint })
  }
  return found
}

/** A broker that is not on this machine; null = all are, as far as can be read. */
function farBroker(brokers: unknown): string | null {
  const names = Array.isArray(brokers) ? brokers.filter(one => typeof one === 'string') : []
  return names.find(name => !isLoopback(addressOf(name)?.host ?? 'localhost')) ?? null
}

function isOurs(mechanism: unknown): boolean {
  return mechanisms.some(one => one === mechanism)
}

function valueAt(value: Words, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, key) => (isMapping(at) ? at[key] : undefined), value)
}

function isMapping(value: unknown): value is Words {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
