import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mirrorOf } from './mirrorOf.ts'

test('a topic that is made with a codec or times of its own is warned of when it is made, and not again (M-26)', async () => {
  const override = { 'compression.type': 'zstd', 'message.timestamp.type': 'LogAppendTime' }
  const mirror = mirrorOf({ brokers: 1, spec: { destination: { config: { override } } } })
  mirror.east.topic('t')
  await mirror.start()
  await mirror.clock.advance(120_000)
  const said = mirror.events.map(({ code, topic, message }) => [code, topic, / has (\S+):/.exec(message)?.[1]])
  assert.deepEqual(said, [
    ['destination-rewrites', 't', 'compression.type=zstd'],
    ['destination-rewrites', 't', 'message.timestamp.type=LogAppendTime'],
  ])
  await mirror.stop()
})
