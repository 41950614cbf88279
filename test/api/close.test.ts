import assert from 'node:assert/strict'
import { test } from 'node:test'
import { served } from './served.ts'

test('a request that waits is answered when the API closes, and nobody is heard after it', async t => {
  const { promise: began, resolve } = Promise.withResolvers<void>()
  const api = await served(t, { nudge: () => resolve() })
  api.putFlow('clicks')
  api.putHeld('w-1', ['clicks/a/0'])
  const waits = api.ask('POST', '/v1/flows/clicks/pause?wait=60')
  await began
  await api.close()
  const told = await waits
  assert.deepEqual([told.status, told.json['held']], [202, 1])
  await assert.rejects(api.ask('GET', '/livez'))
})
