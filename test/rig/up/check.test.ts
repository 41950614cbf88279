import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Checked, checkTable } from '../../../rig/up/check.ts'

const checked: Checked = {
  topics: [
    { topic: 'demo-a', partitions: 2, configs: {} },
    { topic: 'demo-b', partitions: 1, configs: {} },
  ],
  copied: [{ topic: 'demo-a', records: 1_200, bytes: 3 * 2 ** 20, skippedRecords: 50 }],
  compared: [
    { topic: 'demo-a', equal: 600, verdict: 'equal' },
    { topic: 'demo-a', equal: 599, verdict: 'different' },
  ],
  seconds: 2,
  good: false,
}

test('the table of a check says what was copied, and names what differs or was never compared', () => {
  assert.equal(
    checkTable(checked),
    `${[
      'TOPIC   PARTITIONS  RECORDS     BYTES  SKIPPED  EQUAL  VERDICT',
      'demo-a           2    1,200  3.00 MiB       50  1,199  equal, different',
      'demo-b           1        0       0 B        0      0  not compared',
      '',
      'copied: 2 topics, 3 partitions, 1,200 records, 3.0 MiB in 2.0 s, 1.5 MiB/s with the start of the command',
      'both sides are NOT equal',
    ].join('\n')}\n`,
  )
})
