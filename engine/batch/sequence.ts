/** The sequence after a batch of `count` records that began at `sequence`; it wraps at 2³¹ (W-50). */
export function nextSequence(sequence: number, count: number): number {
  return (sequence + count) % 2 ** 31
}
