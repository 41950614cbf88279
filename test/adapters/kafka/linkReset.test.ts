import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import tls from 'node:tls'
import { produceApi } from '../../../engine/adapters/kafka/frames/produce.ts'
import { Link } from '../../../engine/adapters/kafka/link.ts'
import { makeCertificates } from '../../../rig/certificates.ts'
import { manualClock } from '../../fakes/clock.ts'

/** Far more than two kernels take of a connection that nobody reads. */
const bytes = 16 * 1024 * 1024
const question = {
  transactionalId: null,
  timeoutMs: 1_000,
  topics: [
    { topic: 't', topicId: 'AAAAAAAAAAAAAAAAAAAAAA', partitions: [{ partition: 0, records: Buffer.alloc(bytes) }] },
  ],
}

async function listening(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** A peer that takes a connection and reads nothing of it. */
async function deaf(t: TestContext, encrypted: boolean): Promise<Socket> {
  const stay = (socket: Socket) => {
    socket.pause().on('error', () => {})
    t.after(() => socket.destroy())
  }
  if (!encrypted) {
    const port = await listening(t, createServer({ pauseOnConnect: true }, stay))
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
  const dir = await mkdtemp(join(tmpdir(), 'millrace-reset-'))
  t.after(() => rm(dir, { recursive: true }))
  const { authority, server } = await makeCertificates(dir)
  const pem = await readFile(server.pem)
  const port = await listening(t, tls.createServer({ key: pem, cert: pem }, stay))
  const socket = tls.connect({ port, host: '127.0.0.1', servername: 'localhost', ca: await readFile(authority) })
  await once(socket, 'secureConnect')
  return socket
}

for (const encrypted of [false, true]) {
  const line = encrypted ? 'a TLS line' : 'a plain line'
  test(`over ${line} a reset frees the bytes of every request that was not taken, once each`, async t => {
    const socket = await deaf(t, encrypted)
    socket.on('error', () => {})
    const link = new Link(socket, { name: 'deaf', clientId: 'm', clock: manualClock(), account: null })
    link.agree(new Map([[produceApi.key, produceApi.max]]))
    const freed = [0, 0, 0]
    const asked = freed.map((_, i) => {
      const onWritten = () => {
        freed[i] = (freed[i] ?? 0) + 1
      }
      return link.ask(produceApi, question, { timeoutMs: 1_000, onWritten })
    })
    await new Promise(setImmediate)
    assert.deepEqual(freed, [0, 0, 0])
    const closed = once(socket, 'close')
    link.reset('it reads nothing')
    for (const one of asked) await assert.rejects(one, { code: 'kafka-link-lost' })
    await closed
    await new Promise(setImmediate)
    assert.deepEqual(freed, [1, 1, 1])
  })
}

test('a request that a link can no longer take is freed at once', async () => {
  const clock = manualClock()
  const wire = { cork() {}, uncork() {}, write: () => true, resume() {}, destroy() {} }
  const link = new Link(wire, { name: 'ended', clientId: 'm', clock, account: null })
  let freed = 0
  const onWritten = () => {
    freed++
  }
  const ask = () => link.ask(produceApi, question, { timeoutMs: 1_000, onWritten })
  await assert.rejects(ask(), { code: 'kafka-version-unsupported' })
  link.end(null)
  await assert.rejects(ask(), { code: 'kafka-link-lost' })
  assert.equal(freed, 2)
})
