import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AskedFlags, askedOf } from '../../cli/asked.ts'
import { MillraceError } from '../../engine/errors.ts'

const flags: AskedFlags = { from: 'east:9092', to: 'west:9092', topics: ['clicks\\..*'] }
const refused = (more: AskedFlags, words: string[] = []) => {
  try {
    askedOf({ ...flags, ...more }, words, 'millrace mirror')
  } catch (error) {
    assert.ok(error instanceof MillraceError)
    assert.equal(error.code, 'config-invalid')
    return `${error.message}\n${error.hint}`
  }
  throw new Error('it was taken')
}

test('the words of both commands', () => {
  const asked = askedOf({ ...flags, exclude: ['.*\\.tmp'], name: 'second' }, [], 'millrace mirror')
  assert.deepEqual(asked.from.brokers, [{ host: 'east', port: 9092 }])
  assert.equal(asked.select('clicks.a', false).selected, true)
  assert.equal(asked.select('clicks.tmp', false).selected, false)
  assert.equal(asked.name, 'second')
  assert.equal(askedOf(flags, [], 'millrace mirror').name, null)
})

test('what is missing is named, with a whole example', () => {
  assert.throws(() => askedOf({}, [], 'millrace mirror'), {
    message: 'missing: --from HOST:PORT, --to HOST:PORT, --topics PATTERN',
    hint: "as in: millrace mirror --from east:9092 --to west:9092 --topics 'clicks\\..*'",
  })
})

test('a pattern is refused by the name of its flag', () => {
  assert.match(refused({ topics: ['fine', 'clicks('] }), /^--topics: 'clicks\(' is no RE2 pattern: .* at position 7 /)
  assert.match(refused({ exclude: ['['] }), /^--exclude: '\[' is no RE2 pattern/)
  assert.match(refused({ topics: [''] }), /^--topics: expected a pattern, found nothing/)
  assert.match(refused({ exclude: [''] }), /^--exclude: expected a pattern, found nothing/)
})

test('a word too many may be a command or names of files in place of a pattern: both are said', () => {
  assert.match(refused({}, ['verfy']), /^a word too many: verfy\n.*`millrace mirror verify` compares, .* in quotes/)
})

test('a name of a flow is small letters, digits and dashes', () => {
  for (const name of ['Bad Name', '-a', '', 'a'.repeat(64)]) assert.match(refused({ name }), /^--name: '.*' is no name/)
})

const file = (brokers: { host: string; port: number }[]) => ({
  flag: '--source-config',
  path: 'east.yaml',
  settings: {
    brokers,
    clientId: 'me',
    addresses: new Map(),
    security: { mechanism: 'plain' as const, secret: { env: 'P' }, tls: null, loopbackOnly: true },
  },
})

test('a file of the source stands for --from when it has brokers, and adds to it when it has none', () => {
  const { from, ...more } = flags
  const whole = askedOf(more, [], 'millrace mirror', { from: file([{ host: 'e', port: 1 }]), to: null })
  assert.deepEqual([whole.from.name, whole.from.brokers], ['source', [{ host: 'e', port: 1 }]])
  const added = askedOf(flags, [], 'millrace mirror', { from: file([]), to: null })
  assert.deepEqual(added.from.brokers, [{ host: 'east', port: 9092 }])
  assert.deepEqual([added.from.clientId, added.from.security.mechanism], ['me', 'plain'])
  assert.equal(added.from.keyName('tls.ca'), 'security.tls.ca in the file of --source-config')
  assert.equal(added.to.keyName('mechanism'), 'security.mechanism in the file of --destination-config')
  assert.throws(() => askedOf(more, [], 'x', { from: file([]), to: null }), { message: 'missing: --from HOST:PORT' })
  assert.throws(() => askedOf(flags, [], 'x', { from: file([{ host: 'e', port: 1 }]), to: null }), {
    message: '--from and the brokers in east.yaml of --source-config: one too many',
  })
})
