import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseSecret, type SecretKind } from '../../engine/credentials/decide/parseSecret.ts'
import '../properties.ts'

const pem = (label: string, body = 'AAAA') => `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`
const own = { certificate: pem('CERTIFICATE', 'BBBB'), key: pem('PRIVATE KEY') }

/** Tokens of one name that are right but for what is said. */
const tokens = (...of: object[]) =>
  JSON.stringify({ tokens: of.map(more => ({ name: 'ci', role: 'viewer', sha256: 'a'.repeat(64), ...more })) })

const good: [what: string, kind: SecretKind, text: string, parsed: object][] = [
  ['a password', 'password', '{"username":"u","password":"p"}', { username: 'u', password: 'p' }],
  [
    'a password with its kind, other keys and a line end',
    'password',
    '{"v":1,"kind":"password","username":"u","password":"p","engine":"x"}\n',
    { username: 'u', password: 'p' },
  ],
  [
    'a certificate as JSON',
    'client-certificate',
    JSON.stringify({ v: 1, kind: 'client-certificate', ...own, passphrase: 'x' }),
    { ...own, passphrase: 'x' },
  ],
  [
    'a certificate as PEM, the key first and a chain behind',
    'client-certificate',
    `Bag Attributes\n${own.key}${own.certificate}${pem('CERTIFICATE', 'CCCC')}`,
    { ...own, certificate: own.certificate + pem('CERTIFICATE', 'CCCC'), passphrase: null },
  ],
  [
    'a key of the old form, with headers',
    'client-certificate',
    own.certificate + pem('RSA PRIVATE KEY', 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA'),
    {
      certificate: own.certificate,
      key: pem('RSA PRIVATE KEY', 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA'),
      passphrase: null,
    },
  ],
  [
    'a digest of ZooKeeper',
    'zk-digest',
    '{"v":1,"kind":"zk-digest","user":"u","password":"p:q"}',
    { user: 'u', password: 'p:q' },
  ],
  [
    'tokens of the API, whose digests may be written in capitals',
    'api-tokens',
    JSON.stringify({ v: 1, kind: 'api-tokens', tokens: [{ name: 'ci', role: 'operator', sha256: 'AB'.repeat(32) }] }),
    { tokens: [{ name: 'ci', role: 'operator', sha256: 'ab'.repeat(32) }] },
  ],
  ['authorities', 'authority', own.certificate + own.certificate, { certificate: own.certificate + own.certificate }],
]
for (const [what, kind, text, parsed] of good) {
  test(`parseSecret takes ${what}`, () => {
    assert.deepEqual(parseSecret(kind, text), { ok: true, parsed: { kind, ...parsed } })
  })
}

const bad: [what: string, kind: SecretKind, text: string, key: string | null][] = [
  ['no JSON', 'password', 'hunter2', null],
  ['a list', 'password', '["hunter2"]', null],
  ['a newer version', 'password', '{"v":2,"username":"u","password":"hunter2"}', 'v'],
  ['another kind', 'password', '{"kind":"keytab","username":"u","password":"hunter2"}', 'kind'],
  ['no user', 'password', '{"password":"hunter2"}', 'username'],
  ['an empty password', 'password', '{"username":"hunter2","password":""}', 'password'],
  ['a password that is a number', 'password', '{"username":"hunter2","password":7}', 'password'],
  ['a certificate without a key', 'client-certificate', own.certificate, 'key'],
  ['a key without a certificate', 'client-certificate', own.key, 'certificate'],
  ['a passphrase that is none', 'client-certificate', JSON.stringify({ ...own, passphrase: 7 }), 'passphrase'],
  ['authorities without a certificate', 'authority', own.key, null],
  ['a user of ZooKeeper with a colon', 'zk-digest', '{"user":"hunter2:x","password":"p"}', 'user'],
  ['a login of Kafka in the place of a digest', 'zk-digest', '{"username":"u","password":"hunter2"}', 'user'],
  ['no tokens', 'api-tokens', '{"tokens":[]}', 'tokens'],
  ['a token itself in the place of its digest', 'api-tokens', tokens({ sha256: 'hunter2' }), 'tokens[0].sha256'],
  ['a token without a role', 'api-tokens', tokens({ role: 'root' }), 'tokens[0].role'],
  ['a token without a name', 'api-tokens', tokens({ name: 'a b' }), 'tokens[0].name'],
  ['two tokens of one name', 'api-tokens', tokens({}, {}), 'tokens[1].name'],
  ['tokens that are none', 'api-tokens', '{"tokens":[null]}', 'tokens[0].name'],
]
for (const [what, kind, text, key] of bad) {
  test(`parseSecret refuses ${what}, names the key and never the value`, () => {
    const found = parseSecret(kind, text)
    assert.ok(!found.ok)
    assert.equal(found.fault.key, key)
    assert.doesNotMatch(JSON.stringify(found), /hunter2|AAAA|BBBB/)
  })
}

test('parseSecret throws nothing, and twice the same text gives the same', () => {
  const kinds = fc.constantFrom<SecretKind>('password', 'client-certificate', 'authority', 'zk-digest', 'api-tokens')
  fc.assert(
    fc.property(kinds, fc.oneof(fc.string(), fc.json()), (kind, text) => {
      assert.deepEqual(parseSecret(kind, text), parseSecret(kind, text))
    }),
  )
})
