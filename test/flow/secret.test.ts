import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { startRedactor } from '../../engine/flow/redactor.ts'
import { Secret } from '../../engine/flow/secret.ts'
import '../properties.ts'

test('a secret shows its name and generation wherever it is shown, and gives its value to who reveals it', () => {
  const secret = new Secret('hunter2-hunter2', { name: 'west', generation: 3 })
  const shown = '[secret west g3]'
  assert.equal(`${secret}`, shown)
  assert.equal(JSON.stringify({ secret }), `{"secret":"${shown}"}`)
  assert.equal(inspect({ secret }, { depth: 9, showHidden: true }), `{ secret: ${shown} }`)
  assert.deepEqual(Object.keys(secret), [])
  assert.equal(inspect(new Error('x', { cause: secret })).includes('hunter2'), false)
  assert.equal(secret.reveal(), 'hunter2-hunter2')
})

const forms = (value: string) => {
  const bytes = Buffer.from(value)
  return [
    value,
    JSON.stringify(value),
    bytes.toString('base64'),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    encodeURIComponent(value.toWellFormed()),
  ]
}

test('a value of eight characters is replaced in all its forms, a shorter one in none', () => {
  const redactor = startRedactor()
  const value = 'p+ss"w/rd é'
  redactor.hide(value)
  for (const form of forms(value)) {
    const text = redactor.redact(`before ${form} after`)
    assert.match(text, /^before "?\[redacted\]"? after$/, form)
  }
  redactor.hide('short')
  assert.equal(redactor.redact('short'), 'short')
  assert.equal(startRedactor().redact('p+ss'), 'p+ss')
})

test('each line of a private key is secret, its markers are not', () => {
  const redactor = startRedactor()
  redactor.hide(
    '-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49\nAwEHBG0wawIBAQQg\n-----END PRIVATE KEY-----\n',
  )
  assert.equal(
    redactor.redact('x AwEHBG0wawIBAQQg -----BEGIN PRIVATE KEY-----'),
    'x [redacted] -----BEGIN PRIVATE KEY-----',
  )
})

test('no value of eight characters or more survives, whatever stands around it', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', minLength: 8, maxLength: 40 }),
      fc.string({ maxLength: 9 }),
      (value, around) => {
        const redactor = startRedactor()
        redactor.hide(value)
        for (const form of forms(value)) {
          if (form.includes('[redacted]') || around.includes(form)) continue
          assert.equal(redactor.redact(`${around}${form}${around}`).includes(form), false)
        }
      },
    ),
  )
})
