import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHttp } from '../../engine/process/http.ts'
import { metricsText } from '../../engine/process/metrics.ts'

test('livez, readyz and metrics answer, other paths and methods say what there is', async () => {
  let ready = false
  const metrics = metricsText([
    {
      kind: 'counter',
      name: 'millrace_test_things_total',
      help: 'Things.',
      read: () => [{ labels: { topic: 'a' }, value: 3 }],
    },
    { kind: 'gauge', name: 'millrace_test_level_bytes', help: 'Level.', read: () => [{ labels: {}, value: 7 }] },
    {
      kind: 'histogram',
      name: 'millrace_test_wait_seconds',
      help: 'Wait.',
      read: () => [
        { labels: { flow: 'f' }, bounds: [0.1, 1], counts: [2, 5], sum: 4.5, count: 6 },
        { labels: { flow: 'g' }, bounds: [0.1, 1], counts: [0, 0], sum: 0, count: 0 },
      ],
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
    for (const line of [
      '# TYPE millrace_test_things_total counter',
      'millrace_test_things_total{topic="a"} 3',
      'millrace_test_level_bytes 7',
      '# TYPE millrace_test_wait_seconds histogram',
      'millrace_test_wait_seconds_bucket{flow="f",le="1"} 5',
      'millrace_test_wait_seconds_bucket{flow="f",le="+Inf"} 6',
      'millrace_test_wait_seconds_sum{flow="f"} 4.5',
      'millrace_test_wait_seconds_count{flow="f"} 6',
      'millrace_test_wait_seconds_count{flow="g"} 0',
    ]) {
      assert.ok(text.split('\n').includes(line), `${line} is not in\n${text}`)
    }
    assert.equal((await get('/'))[0], 404)
    assert.equal((await get('/livez', 'POST'))[0], 405)
  } finally {
    await server.close()
  }
})
