import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blocksChanged } from '../../engine/wiring/blocksInUse.ts'
import { readFlows } from '../../engine/wiring/kinds.ts'

function config(...lines: string[]) {
  const read = readFlows(['clusters: {}', ...lines].join('\n'), 'several')
  assert.ok(read.ok)
  return read.config
}

test('what a process has begun with is not changed by an edit, whether it is added, changed or taken away', () => {
  const first = config('coordination: { zookeeper: "zk:1/m" }', 'worker: { capacity: 10 }')
  assert.deepEqual(
    blocksChanged(first, config('worker: { capacity: 10 }', 'coordination: { zookeeper: "zk:1/m" }')),
    [],
  )
  const changed = blocksChanged(first, config('coordination: { zookeeper: "zk:2/m" }', 'store: file:///s'))
  const other = config('coordination: { zookeeper: "zk:2/m" }', 'worker: { capacity: 10 }')
  assert.deepEqual(blocksChanged(first, other, ['coordination']), [])
  assert.deepEqual(
    changed.map(text => text.split(':')[0]),
    ['coordination', 'worker', 'store'],
  )
})
