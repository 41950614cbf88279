import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCluster, readConfig } from '../../engine/process/config.ts'
import { explainConfig } from '../../engine/process/configExplain.ts'

/** A file of one cluster, `security:` on line 4. */
const fileOf = (security: string, brokers = '["b.example:9093"]') =>
  `clusters:\n  east:\n    brokers: ${brokers}\n    security: ${security}\nflows: {}\n`

function faults(security: string, brokers?: string): string[] {
  const result = readConfig(fileOf(security, brokers), {})
  return result.ok
    ? []
    : result.faults.map(({ line, path, found, expected, rule, hint }) => {
        const more = `${rule === undefined ? '' : ` (${rule})`}${hint === null ? '' : ` | ${hint}`}`
        return `${line} ${path}: found ${found}, expected ${expected}${more}`
      })
}

function settings(security: string, brokers?: string) {
  const result = readConfig(fileOf(security, brokers), {})
  assert.ok(result.ok, JSON.stringify(result))
  return result.config.clusters.get('east')?.security
}

test('every mechanism, with TLS and without, as people write it', () => {
  const none = { mechanism: 'none', secret: null, tls: null, loopbackOnly: false }
  const plainTls = { ca: null, certificate: null, serverName: null }
  assert.deepEqual(settings('{}'), none)
  assert.deepEqual(settings('{ tls: true }'), { ...none, tls: plainTls })
  assert.deepEqual(settings('{ tls: {} }'), { ...none, tls: plainTls })
  assert.deepEqual(settings('{ mechanism: tls, file: me.pem }'), {
    ...none,
    mechanism: 'tls',
    secret: { file: 'me.pem' },
    tls: plainTls,
  })
  assert.deepEqual(
    settings('{ mechanism: plain, env: EAST, tls: { ca: { file: ca.pem }, certificate: { env: ME }, serverName: b } }'),
    {
      mechanism: 'plain',
      secret: { env: 'EAST' },
      tls: { ca: { file: 'ca.pem' }, certificate: { env: 'ME' }, serverName: 'b' },
      loopbackOnly: false,
    },
  )
  assert.deepEqual(settings('{ mechanism: scram-sha-256, file: p.json }')?.tls, null)
  assert.equal(settings('{ mechanism: scram-sha-512, file: p.json }')?.loopbackOnly, false)
})

test('K-3: plain without TLS stays on this machine, unless somebody says otherwise', () => {
  const here = '["localhost:1", "127.0.0.2:1", "[::1]:1"]'
  assert.equal(settings('{ mechanism: plain, env: P }', here)?.loopbackOnly, true)
  assert.equal(settings('{ mechanism: plain, env: P, allowPlaintext: true }')?.loopbackOnly, false)
  const far = faults('{ mechanism: plain, env: P }', '["localhost:1", "b.example:1"]')
  assert.deepEqual(far, [
    "4 clusters.east.security.mechanism: found plain without TLS, expected TLS, or brokers on this machine (K-3) | the password would go to 'b.example:1' in clear: set tls: true, or allowPlaintext: true",
  ])
  assert.equal(faults('{ mechanism: plain, env: P, tls: false }').length, 1)
  assert.equal(faults('{ mechanism: plain, env: P }', '["localhost.example:1"]').length, 1)
  assert.equal(faults('{ mechanism: plain, env: P }', '["127.0.0.1.example:1"]').length, 1)
})

const at = '4 clusters.east.security'
const table: [what: string, security: string, expected: string[]][] = [
  [
    'two places for one secret',
    '{ mechanism: scram-sha-256, file: a, env: B }',
    [`${at}.env: found file and env, expected one of them | a secret is in one place`],
  ],
  [
    'a store and a file',
    '{ mechanism: scram-sha-256, secret: x, file: a }',
    [
      `${at}.secret: found 'secret', expected no such key | not in this version`,
      `${at}.file: found secret and file, expected one of them | a secret is in one place`,
    ],
  ],
  [
    'no place',
    '{ mechanism: scram-sha-512 }',
    [`${at}: found neither, expected file or env for mechanism scram-sha-512 | they name where user and password are`],
  ],
  [
    'no certificate',
    '{ mechanism: tls }',
    [`${at}: found neither, expected file or env for mechanism tls | they name the client certificate and its key`],
  ],
  [
    'a secret without a mechanism',
    '{ file: a }',
    [
      `${at}.file: found file for no mechanism, expected mechanism beside it | mechanism says how it is used: tls, plain, scram-sha-256, scram-sha-512`,
    ],
  ],
  [
    'mechanisms of other versions, and one that is nearly right',
    '{ mechanism: gssapi }',
    [
      `${at}.mechanism: found 'gssapi', expected none, tls, plain, scram-sha-256 or scram-sha-512 | not in this version`,
    ],
  ],
  [
    'a mechanism misspelt',
    '{ mechanism: scram-sha-521, file: a }',
    [
      `${at}.mechanism: found 'scram-sha-521', expected none, tls, plain, scram-sha-256 or scram-sha-512 | did you mean scram-sha-512?`,
    ],
  ],
  [
    'keys of other versions',
    '{ rotate: true, token: {}, issuer: {}, principal: x, serviceName: x }',
    ['rotate', 'token', 'issuer', 'principal', 'serviceName'].map(
      key => `${at}.${key}: found '${key}', expected no such key | not in this version`,
    ),
  ],
  [
    'TLS against itself',
    '{ mechanism: tls, file: a, tls: false }',
    [`${at}.tls: found false, expected true, or nothing | mechanism tls is a certificate that TLS shows`],
  ],
  [
    'two certificates',
    '{ mechanism: tls, file: a, tls: { certificate: { file: b } } }',
    [
      `${at}.tls.certificate: found a second certificate, expected nothing | the certificate of mechanism tls is in file or env beside it`,
    ],
  ],
  [
    'an authority in two places and a certificate in none',
    '{ tls: { ca: { file: a, env: B }, certificate: {} } }',
    [
      `${at}.tls.ca: found both file and env, expected file or env`,
      `${at}.tls.certificate: found neither, expected file or env`,
    ],
  ],
  [
    'the secret itself where its name should be',
    '{ mechanism: scram-sha-256, env: "hunter2!" }',
    [
      `${at}.env: found a hidden value, expected the name of a variable | the value is in the variable, never in this file`,
    ],
  ],
]
for (const [what, security, expected] of table) {
  test(`faults of security are said at once: ${what}`, () => assert.deepEqual(faults(security), expected))
}

test('a misspelt key beside a password without TLS: both are said', () => {
  const found = faults('{ mechanism: plain, fille: x, env: P }')
  assert.deepEqual(
    found.map(fault => fault.split(':')[0]),
    [`${at}.mechanism`, `${at}.fille`],
  )
})

test('an explanation of a secured cluster is a configuration that says the same', () => {
  const text = fileOf('{ mechanism: scram-sha-512, file: p.json, tls: { ca: { file: ca.pem } } }')
  const explained = explainConfig(text, {}, null)
  assert.ok(explained.ok)
  const [again, first] = [readConfig(explained.yaml, {}), readConfig(text, {})]
  assert.ok(again.ok && first.ok)
  assert.deepEqual(again.config, first.config)
})

test('a file of one cluster has its keys at the top, and may leave out the brokers', () => {
  const read = readCluster('security: { mechanism: scram-sha-256, env: P }\nclientId: me\n')
  assert.ok(read.ok)
  assert.deepEqual(read.settings.brokers, [])
  assert.deepEqual([read.settings.clientId, read.settings.security.secret], ['me', { env: 'P' }])
  const bad = readCluster('brokers: [e]\nsecurity: { mechanism: plain }\n')
  assert.ok(!bad.ok)
  assert.deepEqual(
    bad.faults.map(({ line, path }) => [line, path]),
    [
      [1, 'brokers[0]'],
      [2, 'security'],
    ],
  )
  assert.equal(readCluster('[').ok, false)
  assert.equal(readCluster('clusters: {}').ok, false)
})
