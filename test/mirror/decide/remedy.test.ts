import assert from 'node:assert/strict'
import { test } from 'node:test'
import { goOnElsewhere, goOnInNew, remedy } from '../../../engine/mirror/decide/remedy.ts'

const place = { flow: 'clicks', topic: 'orders', partition: 3 }

test('where a copy goes on is said by the command, and where it has no API by the tool of Kafka', () => {
  const text = goOnElsewhere(place)
  assert.match(
    text,
    /millrace pause clicks\/orders\/3 --wait 10, millrace offsets reset clicks\/orders\/3 --to earliest/,
  )
  assert.match(text, /millrace resume clicks\/orders\/3; with millrace mirror/)
  assert.match(text, /--group millrace\.clicks --topic orders:3 --reset-offsets --to-earliest/)
  assert.match(goOnInNew({ flow: 'clicks', topic: 'orders' }), /--topic orders --reset-offsets --to-current --execute/)
})

test('a record that cannot go is tried again or left out, from where the partition stands', () => {
  const at = { ...place, offset: 41n }
  assert.match(
    String(remedy('record-too-large', 'raise it', at)),
    /^raise it; then: millrace resume clicks\/orders\/3; or millrace skip clicks\/orders\/3 --offset 41 --records 1 /,
  )
  assert.match(String(remedy('batch-refused', null, at)), /^then: .* --records N /)
  assert.match(String(remedy('destination-recreated', null, at)), /^decide where it goes on: millrace pause clicks/)
  assert.equal(remedy('source-gap', 'gaps: continue', at), 'gaps: continue')
})
