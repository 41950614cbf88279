import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  acknowledge,
  checkpointEpoch,
  checkpointOf,
  checkpointWindow,
  opened,
  restart,
  type Slot,
  stepOver,
  takeBack,
  type Window,
} from '../../engine/flow/window.ts'
import { unacknowledged } from './unacknowledged.ts'

const window = () => checkpointWindow({ offset: 100n, epoch: 4 })

function send(w: Window, from: bigint, next: bigint, epoch = 5): Slot {
  const slot: Slot = { from, fromEpoch: w.epoch, next, epoch, acked: false, later: null }
  opened(w, slot)
  return slot
}

test('the checkpoint is the lowest offset without acknowledgement, else the position', () => {
  const w = window()
  assert.equal(checkpointOf(w), 100n)
  const a = send(w, 100n, 110n)
  const b = send(w, 110n, 120n, 6)
  assert.deepEqual([w.position, checkpointOf(w), checkpointEpoch(w)], [120n, 100n, 4])
  acknowledge(w, b)
  assert.equal(checkpointOf(w), 100n)
  acknowledge(w, a)
  assert.deepEqual([checkpointOf(w), checkpointEpoch(w), unacknowledged(w)], [120n, 6, 0])
})

test('what needs no acknowledgement moves the checkpoint only when nothing before it is open', () => {
  const w = window()
  const a = send(w, 100n, 110n)
  stepOver(w, 112n, 5)
  assert.equal(checkpointOf(w), 100n)
  acknowledge(w, a)
  assert.equal(checkpointOf(w), 112n)
  stepOver(w, 90n, 5)
  assert.equal(checkpointOf(w), 112n)
})

test('what is taken back is read again from its first offset', () => {
  const w = window()
  const a = send(w, 100n, 110n)
  const b = send(w, 115n, 120n, 6)
  send(w, 120n, 130n, 6)
  takeBack(w, b)
  assert.deepEqual([w.position, w.epoch, checkpointOf(w), unacknowledged(w)], [115n, 5, 100n, 1])
  acknowledge(w, a)
  assert.equal(checkpointOf(w), 115n)
})

test('a restart gives up what is open and may go back', () => {
  const w = window()
  send(w, 100n, 110n)
  restart(w, { offset: 50n, epoch: -1 })
  assert.deepEqual([checkpointOf(w), checkpointEpoch(w), unacknowledged(w)], [50n, -1, 0])
})

test('what is taken back may be the head, and the window goes on behind it', () => {
  const w = window()
  const a = send(w, 100n, 110n)
  send(w, 110n, 120n)
  takeBack(w, a)
  assert.deepEqual([w.position, w.epoch, checkpointOf(w), unacknowledged(w)], [100n, 4, 100n, 0])
  const again = send(w, 100n, 105n)
  assert.equal(checkpointOf(w), 100n)
  acknowledge(w, again)
  assert.deepEqual([checkpointOf(w), unacknowledged(w)], [105n, 0])
})

test('a slot that has left the window is not taken back', () => {
  const w = window()
  const a = send(w, 100n, 110n)
  acknowledge(w, a)
  send(w, 110n, 120n)
  takeBack(w, a)
  assert.deepEqual([w.position, checkpointOf(w), unacknowledged(w)], [120n, 110n, 1])
})
