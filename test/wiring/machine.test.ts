import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newProcessId, thisMachine, workerTags } from '../../engine/wiring/machine.ts'

test('C-2: the id of a process is its container or host with chance behind it, in the letters of a node', () => {
  const half = () => 0.5
  assert.equal(newProcessId({ task: null, host: 'box.example' }, half), 'box_example-80000000')
  const task = '0123456789abcdef0123456789abcdef'
  assert.equal(
    newProcessId({ task, host: 'box' }, () => 0),
    '456789abcdef-00000000',
  )
  const long = newProcessId({ task: null, host: 'ä'.repeat(80) }, half)
  assert.match(long, /^[A-Za-z0-9_-]{64}$/)
  assert.notEqual(newProcessId({ task, host: 'box' }, Math.random), newProcessId({ task, host: 'box' }, Math.random))
})

test('C-53: every worker has a zone and a revision, its own word before that of the machine, each tag once', () => {
  const machine = { zone: 'eu-1a', revision: '7' }
  assert.deepEqual(workerTags(['gpu', 'gpu'], machine), ['gpu', 'revision=7', 'zone=eu-1a'])
  assert.deepEqual(workerTags(['zone=rack-3'], machine), ['revision=7', 'zone=rack-3'])
})

test('what a machine hands over works: both clocks go on, and the CRC is that of Kafka', () => {
  const machine = thisMachine()
  assert.ok(machine.uptimeMs() > 1_000 && machine.host !== '')
  assert.equal(machine.crc(Buffer.from('123456789')), 0xe3069283)
  assert.ok(machine.chance() < 1)
})
