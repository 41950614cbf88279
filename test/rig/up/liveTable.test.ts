import assert from 'node:assert/strict'
import { test } from 'node:test'
import { liveTable, seenIn } from '../../../rig/up/liveTable.ts'

const metrics = (records: number, cpu: number) => `# HELP millrace_mirror_records_total Records.
# TYPE millrace_mirror_records_total counter
millrace_mirror_records_total{flow="f",topic="orders",partition="0"} ${records}
millrace_mirror_records_total{flow="f",topic="orders",partition="1"} ${records}
millrace_mirror_bytes_total{flow="f",topic="orders",partition="0"} ${records * 1024}
millrace_mirror_lag_records{flow="f",topic="orders",partition="0"} 7
millrace_mirror_checkpoint{flow="f",topic="orders",partition="0"} 1
millrace_mirror_checkpoint{flow="f",topic="orders",partition="1"} 1
millrace_mirror_checkpoint{flow="f",topic="a",partition="0"} 1
millrace_kafka_held_bytes 5
process_cpu_seconds_total ${cpu}
process_resident_memory_bytes 104857600
`

test('each topic has its partitions, rates and lag, and the totals stand below', () => {
  const lines = liveTable(seenIn(metrics(0, 1), 1_000), seenIn(metrics(1_024, 1.5), 3_000), {
    startedMs: 0,
    columns: 200,
  })
  assert.deepEqual(lines, [
    'TOPIC   PARTITIONS  RECORDS/S  MIB/S  LAG  RECORDS',
    'a                1          0   0.00    0        0',
    'orders           2      1,024   0.50    7    2,048',
    'total            3      1,024   0.50    7    2,048',
    'CPU 25 %   memory 100 MiB   up 3 s   Ctrl-C ends it',
  ])
})

test('no line is wider than the terminal, and the first table has no rates', () => {
  const now = seenIn(metrics(1_024, 1), 1_000)
  const lines = liveTable(now, now, { startedMs: 1_000, columns: 40 })
  assert.ok(lines.every(line => line.length < 40))
  assert.match(lines[2] ?? '', /^orders +2 +0 +0\.00 /)
})
