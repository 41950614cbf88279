import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FleetSeen, fleetTable, type ProcessSeen } from '../../../rig/up/fleetTable.ts'

const worker = { state: 'ready', heldState: 'running', beatAgeMs: 1_250, units: 3, held: 3 }
const seen: FleetSeen = {
  leader: 'host-1',
  epoch: 4,
  workers: [
    { ...worker, id: 'host-2' },
    { ...worker, id: 'host-3', heldState: 'stopping', units: null, beatAgeMs: null, held: 1_000 },
    { ...worker, id: 'host-4', beatAgeMs: 4_600 },
  ],
  flows: [{ flow: 'demo', wanted: 1_008, inTransit: 0 }],
}
const processes = new Map<string, ProcessSeen>([
  ['host-1', { name: 'controller', pid: 70, ended: false }],
  ['host-2', { name: 'worker-1', pid: 77, ended: false }],
])
const how = {
  processes,
  pids: new Map<string, number | null>([
    ['east', 5],
    ['zookeeper', null],
  ]),
  url: 'http://127.0.0.1:1',
  silentMs: 100,
  seconds: 61,
}
const foot = ['pids: east 5   zookeeper is down', 'API http://127.0.0.1:1   up 1 min 1 s   Ctrl-C ends it']

test('the table of a fleet says who holds what, which processes there are, and how many units run', () => {
  assert.deepEqual(fleetTable(seen, how), [
    'WORKER  PID  STATE     ASSIGNED   HELD  LAST BEAT',
    'host-2   77  ready            3      3      1.3 s',
    'host-3    -  stopping         -  1,000          -',
    'host-4    -  silent           3      3      4.6 s',
    '1,006 of 1,008 units run, 0 in transit',
    'host-1 (pid 70) leads, epoch 4',
    ...foot,
  ])
})

test('what a killed worker holds does not run, a killed leader does not lead, and an API that is away is said', () => {
  const dead = new Map([...processes].map(([id, of]) => [id, { ...of, ended: true }]))
  const lines = fleetTable(seen, { ...how, processes: dead })
  assert.match(lines[1] ?? '', /^host-2 +77 +killed /)
  assert.equal(lines[4], "1,003 of 1,008 units run, 0 in transit, 3 wait for the end of a dead worker's lease")
  assert.equal(lines[5], 'nobody leads: host-1 is gone, its epoch was 4')
  const away = fleetTable(seen, { ...how, silentMs: 3_000 })
  assert.equal(away[5], 'the API has not answered for 3 s: what stands above may be old')
  assert.deepEqual(fleetTable(null, { ...how, url: null })[0], 'the fleet is starting')
})
