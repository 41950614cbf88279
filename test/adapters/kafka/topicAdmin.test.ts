import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Tls } from '../../../engine/adapters/kafka/login.ts'
import { TopicAdmin } from '../../../engine/adapters/kafka/topicAdmin.ts'
import { MillraceError } from '../../../engine/errors.ts'
import { adminTimeoutMs, stopReserveMs } from '../../../engine/limits.ts'
import { manualClock } from '../../fakes/clock.ts'

test('a client that fails after it was given up takes nothing from the one that was opened in its place', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const opened: PromiseWithResolvers<Tls>[] = []
  const tls = () => {
    const one = Promise.withResolvers<Tls>()
    opened.push(one)
    return one.promise
  }
  const how = { cluster: 'west', bootstrap: [{ host: '127.0.0.1', port: 1 }], clientId: 'c', clock: manualClock() }
  const admin = new TopicAdmin({ ...how, security: { tls, sasl: null } })
  const ask = () => assert.rejects(admin.growTopic('t', 2), MillraceError)
  const first = ask()
  await setImmediate()
  t.mock.timers.tick(adminTimeoutMs)
  await first
  const second = ask()
  await setImmediate()
  opened[0]?.reject(new MillraceError('secret-missing', 'late'))
  await setImmediate()
  const third = ask()
  await setImmediate()
  assert.equal(opened.length, 2)
  opened[1]?.reject(new MillraceError('secret-missing', 'now'))
  await Promise.all([second, third])
  await admin.close()
})

test('a stop does not wait for a client that does not come to be opened', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const clock = manualClock()
  const how = { cluster: 'west', bootstrap: [{ host: '127.0.0.1', port: 1 }], clientId: 'c', clock }
  const secret = Promise.withResolvers<Tls>()
  const admin = new TopicAdmin({ ...how, security: { tls: () => secret.promise, sasl: null } })
  const asked = assert.rejects(admin.growTopic('t', 2), { code: 'secret-missing' })
  await setImmediate()
  let closed = false
  const closing = admin.close().then(() => {
    closed = true
  })
  await clock.advance(stopReserveMs)
  assert.equal(closed, true)
  secret.reject(new MillraceError('secret-missing', 'late'))
  await Promise.all([asked, closing])
})
