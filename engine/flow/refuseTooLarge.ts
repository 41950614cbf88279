import { MillraceError } from '../errors.ts'
import { coordinationBytesMax, coordinationOpBytes } from '../limits.ts'
import type { Op } from '../ports/coordinator.ts'

/** Throws `too-large` for a write that no coordination service would take: not sent, nothing done (C-70). */
export function refuseTooLarge(ops: readonly Op[]): void {
  let bytes = 0
  for (const op of ops) {
    const data = 'data' in op ? Buffer.byteLength(op.data) : 0
    if (data > coordinationBytesMax) throw tooLarge(op.path, data)
    bytes += data + Buffer.byteLength(op.path) + coordinationOpBytes
  }
  if (bytes > coordinationBytesMax) throw tooLarge(`${ops.length} operations, the first on ${ops[0]?.path}`, bytes)
}

function tooLarge(what: string, bytes: number): MillraceError {
  return new MillraceError('too-large', `${what}: ${bytes} bytes, at most ${coordinationBytesMax}`)
}
