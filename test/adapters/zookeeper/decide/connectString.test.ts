import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readConnectString } from '../../../../engine/adapters/zookeeper/decide/connectString.ts'

describe('where ZooKeeper is', () => {
  it('is read as its own tools read it', () => {
    const read = (text: string) => {
      const { servers, chroot } = readConnectString(text)
      return [servers.map(({ host, port }) => `${host}:${port}`).join(' '), chroot]
    }
    assert.deepEqual(read('zk'), ['zk:2181', null])
    assert.deepEqual(read('zk:2182/'), ['zk:2182', null])
    assert.deepEqual(read('zk-1.example.com:2181, zk_2,10.0.0.3:1/a/millrace-east.1'), [
      'zk-1.example.com:2181 zk_2:2181 10.0.0.3:1',
      '/a/millrace-east.1',
    ])
    assert.deepEqual(read('zk/a/'), ['zk:2181', '/a'])
  })

  it('C-81: what the client would misread is refused, with what to write', () => {
    for (const [text, message, hint] of [
      ['[::1]:2181', /an IPv6 address$/, /a name/],
      ['fe80::1', /an IPv6 address$/, /a name/],
      ['zk://a:2181', /a URL$/, /tunnel/],
      ['tls://a:2181/b', /a URL$/, /tunnel/],
      ['', /the host ""$/, /host:port/],
      ['a,,b', /the host ""$/, /host:port/],
      ['a b:1', /the host "a b"$/, /host:port/],
      ['a:0', /the port 0$/, /65535/],
      ['a:65536', /the port 65536$/, /65535/],
      ['a:x', /the port x$/, /65535/],
      ['a//b', /the path \/\/b$/, /single slashes/],
      ['a/b/../c', /the path \/b\/\.\.\/c$/, /may not/],
      ['a/zookeeper', /the path \/zookeeper$/, /server/],
      ['a/b c', /the path \/b c$/, /digits/],
    ] as const) {
      assert.throws(() => readConnectString(text), { code: 'config-invalid', message, hint }, text)
    }
  })
})
