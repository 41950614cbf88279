import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flowName } from '../../engine/mirror/flowName.ts'

test('V-7: the two cluster ids give the name of the flow, and another one the other way', () => {
  const [a, b] = ['MkU3OEVBNTcwNTJENDM2Qg', '5L6g3nShT-eMCtK--X86sw']
  assert.equal(flowName(a, b), 'mirror-02b6eb01')
  assert.equal(flowName(b, a), 'mirror-38a72321')
})
