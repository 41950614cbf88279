import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkpointFrom, checkpointText } from '../../../engine/mirror/decide/checkpointMetadata.ts'

const sourceId = 'MkU3OEVBNTcwNTJENDM2Qg'
const destinationId = '5L6g3nShT-eMCtK--X86sw'

test('what stands beside an offset is written in one order of keys, and read back', () => {
  const whole = { sourceId, destinationId, epoch: 5, destinationNext: 1_234n }
  const text = checkpointText(whole)
  assert.equal(text, `{"v":1,"t":"${sourceId}","u":"${destinationId}","e":5,"d":1234}`)
  assert.deepEqual(checkpointFrom(text), { ...whole, setMs: null })
  const start = { ...whole, epoch: -1, destinationNext: null }
  assert.equal(checkpointText(start), `{"v":1,"t":"${sourceId}","u":"${destinationId}"}`)
  assert.deepEqual(checkpointFrom(checkpointText(start)), { ...start, setMs: null })
})

test('an offset that somebody has set says when', () => {
  const set = { sourceId, destinationId, epoch: -1, destinationNext: null, setMs: 1_700_000_000_000 }
  assert.equal(checkpointText(set), `{"v":1,"t":"${sourceId}","u":"${destinationId}","set":1700000000000}`)
  assert.deepEqual(checkpointFrom(checkpointText(set)), set)
})

test('metadata of somebody else counts as none', () => {
  for (const text of ['', 'null', '7', '{', '{"v":2,"t":"a","u":"b"}', '{"v":1,"t":"a"}', '[1]']) {
    assert.equal(checkpointFrom(text), null, text)
  }
  assert.deepEqual(checkpointFrom('{"v":1,"t":"a","u":"","n":9}'), {
    sourceId: 'a',
    destinationId: '',
    epoch: -1,
    destinationNext: null,
    setMs: null,
  })
})
