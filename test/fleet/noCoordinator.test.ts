import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noCoordinator } from '../../engine/fleet/noCoordinator.ts'

test('who asks before there is a session is told what is waited for', async () => {
  const away = { code: 'store-away' as const, message: '/var/lib/millrace is not there', hint: 'is its disk mounted?' }
  const coordinator = noCoordinator(() => away)
  await assert.rejects(coordinator.read('/flows'), away)
  assert.deepEqual(coordinator.state().trouble, away)
  await assert.rejects(noCoordinator().children('/flows'), { code: 'coordination-unreachable' })
})
