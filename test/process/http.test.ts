import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHttp } from '../../engine/process/http.ts'
import { metricsText } from '../../engine/process/metrics.ts'

test('livez, readyz and metrics answer, other paths and methods say what there is', async () => {
  let ready = false
  const metrics = metricsText([
    {
      name: 'millrace_test_things_total',
      help: 'Things.',
      kind: 'counter',
      labels: ['topic'],
      read: () => [{ labels: { topic: 'a' }, value: 3 }],
    },
    {
      name: 'millrace_test_level_bytes',
      help: 'Level.',
      kind: 'gauge',
      labels: [],
      read: () => [{ labels: {}, value: 7 }],
    },
  ])
  const server = await startHttp({ host: '127.0.0.1', port: 0, ready: () => ({ ready, why: 'no source' }), metrics })
  try {
    const get = async (path: string, method = 'GET') => {
      const response = await fetch(`${server.url}${path}`, { method })
      return [response.status, await response.text()] as const
    }
    assert.deepEqual(await get('/livez'), [200, 'ok\n'])
    assert.deepEqual(await get('/readyz'), [503, 'no source\n'])
    ready = true
    assert.deepEqual(await get('/readyz?x=1'), [200, 'ok\n'])
    const [status, text] = await get('/metrics')
    assert.equal(status, 200)
    assert.match(text, /millrace_test_things_total\{topic="a"\} 3\n/)
    assert.match(
      (await get('/metrics'))[1],
      /millrace_test_things_total\{topic="a"\} 3\n(.|\n)*millrace_test_level_bytes 7\n/,
    )
    assert.equal((await get('/'))[0], 404)
    assert.equal((await get('/livez', 'POST'))[0], 405)
  } finally {
    await server.close()
  }
})
