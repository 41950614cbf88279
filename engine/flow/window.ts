import type { Position } from '../ports/kafka.ts'

/**
 * One batch on its way: it acknowledges the source offsets from `from` up to, not with, `next`. The slots of a window
 * are a list by `later`: as many leave a second as batches are copied, and none of them moves an array.
 */
export type Slot = {
  from: bigint
  /** Leader epoch of the batch before it, −1 = not known: what a reader that starts at `from` says (W-43). */
  fromEpoch: number
  next: bigint
  epoch: number
  acked: boolean
  later: Slot | null
}

/**
 * The checkpoint window of a partition (M-42): what was read up to `position` and is not yet acknowledged, in order
 * of offsets. Acknowledged slots leave from the head; the checkpoint never passes one that is not.
 */
export type Window = {
  position: bigint
  epoch: number
  head: Slot | null
  tail: Slot | null
}

export function checkpointWindow(at: Position): Window {
  return { position: at.offset, epoch: at.epoch, head: null, tail: null }
}

/** Steps over offsets that need no acknowledgement. A position never goes back here. */
export function stepOver(window: Window, next: bigint, epoch: number): void {
  if (next <= window.position) return
  window.position = next
  window.epoch = epoch
}

/** A batch is sent; its slot begins where the window stands or, after a hole, later. */
export function opened(window: Window, slot: Slot): void {
  if (window.tail === null) window.head = slot
  else window.tail.later = slot
  window.tail = slot
  window.position = slot.next
  window.epoch = slot.epoch
}

export function acknowledge(window: Window, slot: Slot): void {
  slot.acked = true
  while (window.head?.acked) window.head = window.head.later
  if (window.head === null) window.tail = null
}

/** `slot` and all after it were not written, or are given up: they are read again from there. */
export function takeBack(window: Window, slot: Slot): void {
  let before: Slot | null = null
  let found = window.head
  while (found !== null && found !== slot) {
    before = found
    found = found.later
  }
  if (found === null) return
  if (before === null) window.head = null
  else before.later = null
  window.tail = before
  window.position = slot.from
  window.epoch = slot.fromEpoch
}

/** All that is open is given up, and the window goes on at `at`: after a gap, a cut log, a topic made anew. */
export function restart(window: Window, at: Position): void {
  window.head = null
  window.tail = null
  window.position = at.offset
  window.epoch = at.epoch
}

/** The next source offset to read when all that is acknowledged now is all there will be. */
export function checkpointOf(window: Window): bigint {
  return window.head?.from ?? window.position
}

/** The leader epoch that goes with the checkpoint. */
export function checkpointEpoch(window: Window): number {
  return window.head?.fromEpoch ?? window.epoch
}
