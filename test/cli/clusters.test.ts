import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterOf } from '../../cli/clusters.ts'
import { MillraceError } from '../../engine/errors.ts'

const brokers = (text: string) => clusterOf('source', '--from', text).brokers

test('brokers are HOST:PORT with commas between, IPv6 in brackets', () => {
  assert.deepEqual(brokers('east:9092'), [{ host: 'east', port: 9092 }])
  assert.deepEqual(brokers('a.b.example:9092, 10.0.0.5:19092'), [
    { host: 'a.b.example', port: 9092 },
    { host: '10.0.0.5', port: 19092 },
  ])
  assert.deepEqual(brokers('[::1]:9092,[fe80::1%eth0]:1'), [
    { host: '::1', port: 9092 },
    { host: 'fe80::1%eth0', port: 1 },
  ])
})

const wrong: [text: string, hint: RegExp][] = [
  ['', /east1:9092,east2:9092/],
  ['east', /east:9092/],
  ['east:', /east:9092/],
  ['east:0', /east:9092/],
  ['east:70000', /east:9092/],
  ['east:9092,', /east:9092/],
  [':9092', /east:9092/],
  ['::1:9092', /brackets/],
  ['kafka://east:9092', /without the scheme/],
  ['ea st:9092', /east:9092/],
]
for (const [text, hint] of wrong) {
  test(`'${text}' is refused with the flag, what was found and what would be right`, () => {
    assert.throws(
      () => brokers(text),
      error => {
        assert.ok(error instanceof MillraceError)
        assert.equal(error.code, 'config-invalid')
        assert.match(error.message, /^--from: expected HOST:PORT, found /)
        assert.match(String(error.hint), hint)
        return true
      },
    )
  })
}
