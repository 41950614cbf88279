import type { Position } from '../ports/kafka.ts'

/** One batch on its way: it acknowledges the source offsets from `from` up to, not with, `next`. */
export type Slot = {
  from: bigint
  /** Leader epoch of the batch before it, −1 = not known: what a reader that starts at `from` says (W-43). */
  fromEpoch: number
  next: bigint
  epoch: number
  acked: boolean
}

/**
 * The checkpoint window of a partition (M-42): what was read up to `position` and is not yet acknowledged, in order
 * of offsets. Acknowledged slots leave from the head; the checkpoint never passes one that is not.
 */
export type Window<S extends Slot> = {
  position: bigint
  epoch: number
  /** The slots from `first` on are open; those before it have left and are cut off now and then. */
  slots: S[]
  first: number
}

/** So many left slots are cut off at once: moving an array for each batch would cost more than its copy. */
const cutSlots = 256

export function checkpointWindow<S extends Slot>(at: Position): Window<S> {
  return { position: at.offset, epoch: at.epoch, slots: [], first: 0 }
}

/** Steps over offsets that need no acknowledgement. A position never goes back here. */
export function stepOver<S extends Slot>(window: Window<S>, next: bigint, epoch: number): void {
  if (next <= window.position) return
  window.position = next
  window.epoch = epoch
}

/** A batch is sent; its slot begins where the window stands or, after a hole, later. */
export function opened<S extends Slot>(window: Window<S>, slot: S): void {
  window.slots.push(slot)
  window.position = slot.next
  window.epoch = slot.epoch
}

export function acknowledge<S extends Slot>(window: Window<S>, slot: S): void {
  slot.acked = true
  const { slots } = window
  let first = window.first
  while (first < slots.length && slots[first]?.acked) first++
  if (first === slots.length || first >= cutSlots) {
    slots.splice(0, first)
    first = 0
  }
  window.first = first
}

/** `slot` and all after it were not written, or are given up: they are read again from there. */
export function takeBack<S extends Slot>(window: Window<S>, slot: S): void {
  const index = window.slots.indexOf(slot, window.first)
  if (index < 0) return
  window.slots.length = index
  window.position = slot.from
  window.epoch = slot.fromEpoch
}

/** All that is open is given up, and the window goes on at `at`: after a gap, a cut log, a topic made anew. */
export function restart<S extends Slot>(window: Window<S>, at: Position): void {
  window.slots.length = 0
  window.first = 0
  window.position = at.offset
  window.epoch = at.epoch
}

export function unacknowledged<S extends Slot>(window: Window<S>): number {
  return window.slots.length - window.first
}

/** The next source offset to read when all that is acknowledged now is all there will be. */
export function checkpointOf<S extends Slot>(window: Window<S>): bigint {
  return window.slots[window.first]?.from ?? window.position
}

/** The leader epoch that goes with the checkpoint. */
export function checkpointEpoch<S extends Slot>(window: Window<S>): number {
  return window.slots[window.first]?.fromEpoch ?? window.epoch
}
