import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyExitCode, verifyJsonLine, verifyProgressLine, verifyTable } from '../../cli/verifyOutput.ts'
import { emptyTally, type Tally } from '../../engine/mirror/decide/compareStreams.ts'
import type { Verified } from '../../engine/mirror/verify.ts'

function result(verdict: Verified['verdict'], tally: Partial<Tally> = {}): Verified {
  const counts = { ...emptyTally(), ...tally }
  return { topic: 'clicks', partition: 3, sourceFrom: 0n, sourceTo: 1_500n, tally: counts, verdict, fault: null }
}

test('the exit code is 1 when something differs, 12 when something is unfinished, else 0', () => {
  const [equal, repeated, different, unfinished] = (['equal', 'repeated', 'different', 'unfinished'] as const).map(
    verdict => result(verdict),
  ) as [Verified, Verified, Verified, Verified]
  assert.equal(verifyExitCode([equal, repeated], false), 0)
  assert.equal(verifyExitCode([equal, repeated], true), 1)
  assert.equal(verifyExitCode([equal, unfinished], false), 12)
  assert.equal(verifyExitCode([unfinished, different], false), 1)
})

test('a JSON line has the fields of the design, and names the first difference of both sides', () => {
  const tally = { records: 1_500, destinationRecords: 1_500, equal: 1_499, missing: 1, extra: 1 }
  const line = verifyJsonLine(result('different', { ...tally, firstMissing: 2n ** 60n, firstExtra: 42n }))
  assert.equal(line.at(-1), '\n')
  const parsed = JSON.parse(line)
  assert.deepEqual(Object.keys(parsed), [
    ...['topic', 'partition', 'sourceFrom', 'sourceTo', 'records', 'destinationRecords', 'equal', 'repeated'],
    ...['missing', 'extra', 'expired', 'outOfOrder', 'firstDifference', 'verdict'],
  ])
  assert.deepEqual(parsed.firstDifference, { source: '1152921504606846976', destination: 42 })
  assert.equal(JSON.parse(verifyJsonLine(result('equal'))).firstDifference, null)
})

test('the table has a row a partition', () => {
  const tally = { equal: 1_499, missing: 1, extra: 2, outOfOrder: 1, firstMissing: 7n, firstExtra: 8n }
  assert.equal(
    verifyTable([result('different', tally), result('equal', { equal: 5 })]),
    `${[
      'TOPIC   PARTITION  EQUAL  REPEATED  MISSING  EXTRA  EXPIRED  DIFFERENCE                               VERDICT',
      'clicks          3  1,499         0        1      2        0  source 7, destination 8, 1 out of order  different',
      'clicks          3      5         0        0      0        0  -                                        equal',
    ].join('\n')}\n`,
  )
})

test('the progress line says how far it is', () => {
  const at = { part: { topic: 'clicks', partition: 3 }, partitionsDone: 12, partitions: 1_440, records: 48_211 }
  assert.equal(
    verifyProgressLine(at, 1_234.5),
    'verify: 12 of 1,440 partitions | 48,211 records | 1,235 rec/s | clicks/3',
  )
})
