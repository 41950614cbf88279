import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readStoreUri } from '../../engine/flow/storeUri.ts'

test('a folder by its absolute path is a store; percent codes are read, a slash at the end is none', () => {
  assert.deepEqual(readStoreUri('file:///var/lib/millrace'), { kind: 'file', path: '/var/lib/millrace' })
  assert.deepEqual(readStoreUri('FILE:///a/b//'), { kind: 'file', path: '/a/b' })
  assert.deepEqual(readStoreUri('file:///my%20disk/100%25'), { kind: 'file', path: '/my disk/100%' })
})

const refused: [text: string, message: RegExp, hint: RegExp][] = [
  ['', /nothing has no scheme/, /write file:\/\/\/path\/to\/store/],
  ['data/store', /no scheme/, /write file:\/\/\/path\/to\/data\/store/],
  ['./data', /no scheme/, /write file:\/\/\/path\/to\/data$/],
  ['/var/lib/millrace', /no scheme/, /write file:\/\/\/var\/lib\/millrace$/],
  ['~/store', /no scheme/, /write file:\/\/\/path\/to\/store$/],
  ['file:store', /must be absolute/, /write file:\/\/\/path\/to\/store$/],
  ['file:/var/x', /three slashes/, /write file:\/\/\/var\/x$/],
  ['file://var/x', /three slashes/, /write file:\/\/\/var\/x$/],
  ['file://localhost/x', /three slashes/, /write file:\/\/\//],
  ['file:///', /root of the machine/, /write file:\/\/\/var\/lib\/millrace$/],
  ['file:///a/../b', /'\.\.'/, /write file:\/\/\/b$/],
  ['file:///a/%2e%2e/b', /'\.\.'/, /write file:\/\/\/b$/],
  ['file:///a//b', /empty part/, /write file:\/\/\/a\/b$/],
  ['file:///100%', /% is written %25/, /write file:\/\/\/100%25$/],
  ['file:///a?b=c', /%3F/, /write/],
  ['file:///a%00b', /zero byte/, /write/],
  ['s3://bucket/prefix', /not in this version/, /file:\/\/\/var\/lib\/millrace/],
  ['gs://bucket', /no store of the kind gs/, /write/],
  ['C:\\store', /drive/, /write/],
]
for (const [text, message, hint] of refused) {
  test(`${JSON.stringify(text)} is no store, and what would be right is said`, () => {
    assert.throws(() => readStoreUri(text), { code: 'config-invalid', message, hint })
  })
}
