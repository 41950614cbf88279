import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { connector } from '../../../engine/adapters/kafka/connect.ts'
import { plainSecurity } from '../../../engine/adapters/kafka/login.ts'
import { MemoryAccount } from '../../../engine/adapters/kafka/slab.ts'
import { Writer } from '../../../engine/adapters/kafka/wire.ts'
import { machineClock } from '../../../engine/adapters/local/clock.ts'

test('KAFKA 3: a broker too old for us is refused with both ranges in the words', async t => {
  const fetchKey = 1
  const server = createServer(socket =>
    socket.on('data', question => {
      const w = new Writer().i32(question.readInt32BE(8)).i16(0)
      const keys = [...Array(100).keys()]
      const range = (key: number) =>
        w
          .i16(key)
          .i16(0)
          .i16(key === fetchKey ? 11 : 99)
      // The login asks in an old version, we in a flexible one.
      if (question.readInt16BE(6) >= 3)
        w.array(keys, key => range(key).tags())
          .i32(0)
          .tags()
      else {
        w.i32(keys.length)
        for (const key of keys) range(key)
        w.i32(0)
      }
      const body = Buffer.concat(w.done())
      const length = Buffer.alloc(4)
      length.writeInt32BE(body.length)
      socket.write(Buffer.concat([length, body]))
    }),
  )
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const at = server.address()
  const port = at !== null && typeof at === 'object' ? at.port : 0
  const how = { cluster: 'east', clientId: 'millrace', security: plainSecurity, caps: new Map<number, number>() }
  const connect = connector({ ...how, account: new MemoryAccount(), clock: machineClock() })
  // The machine's timers keep nobody alive.
  const alive = setInterval(() => {}, 60_000)
  t.after(() => clearInterval(alive))
  await assert.rejects(connect({ host: '127.0.0.1', port }, 'control'), {
    code: 'kafka-version-unsupported',
    message: `east: broker 127.0.0.1:${port}: Fetch: we speak 12–17, the broker 0–11`,
    hint: 'Kafka 3.0 or newer is needed',
  })
})
