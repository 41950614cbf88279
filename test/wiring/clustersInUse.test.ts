import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../engine/process/config.ts'
import { clustersInUse } from '../../engine/wiring/clustersInUse.ts'

function config(...lines: string[]) {
  const read = readConfig(['clusters:', ...lines.map(line => `  ${line}`)].join('\n'), {})
  assert.ok(read.ok)
  return read.config
}

const east = 'east: { brokers: ["east:1"] }'

test('a cluster that came with a later edit cannot be changed either, nor one that had left the file', () => {
  const inUse = clustersInUse(config(east))
  const more = config(east, 'south: { brokers: ["suoth:1"] }')
  assert.deepEqual(inUse.changed(more), [])
  inUse.add(more)
  const why = (name: string) => [`clusters.${name}: it cannot be changed while it is in use: start the process anew`]
  assert.deepEqual(inUse.changed(config(east, 'south: { brokers: ["south:1"] }')), why('south'))
  inUse.add(config('north: { brokers: ["north:1"] }'))
  assert.deepEqual(inUse.changed(config('east: { brokers: ["east:2"] }')), why('east'))
  assert.deepEqual(inUse.changed(config(east, 'north: { brokers: ["north:1"] }')), [])
})
