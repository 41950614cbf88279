import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Tls } from '../../../engine/adapters/kafka/login.ts'
import { TopicAdmin } from '../../../engine/adapters/kafka/topicAdmin.ts'
import { MillraceError } from '../../../engine/errors.ts'
import { adminTimeoutMs } from '../../../engine/limits.ts'
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
