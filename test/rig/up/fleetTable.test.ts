import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fleetTable } from '../../../rig/up/fleetTable.ts'

test('the table of a fleet says who holds what, and how many units run', () => {
  const worker = { state: 'ready', heldState: 'running', beatAgeMs: 1_250, units: 3, held: 3, load: 12_345.6 }
  const lines = fleetTable(
    {
      leader: 'host-1',
      epoch: 4,
      workers: [
        { ...worker, id: 'host-2' },
        { ...worker, id: 'host-3', heldState: 'stopping', units: null, load: null, beatAgeMs: null, held: 1_000 },
      ],
      flows: [{ flow: 'demo', wanted: 8, held: 4, inTransit: 0 }],
    },
    { pids: new Map([['host-2', 77]]), url: 'http://127.0.0.1:1', seconds: 61 },
  )
  assert.deepEqual(lines, [
    'WORKER  PID  STATE     ASSIGNED   HELD    LOAD  LAST BEAT',
    'host-2   77  ready            3      3  12,346      1.3 s',
    'host-3    -  stopping         -  1,000       -          -',
    'demo: 4 of 8 units run, 0 in transit',
    'host-1 leads, epoch 4   API http://127.0.0.1:1   up 1 min 1 s   Ctrl-C ends it',
  ])
})
