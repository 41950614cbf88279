import { writeBytesMax, writeOpsMax } from '../../limits.ts'
import type { Op } from '../../ports/coordinator.ts'
import { writeAssignment } from './documents/assignment.ts'
import { cutDocument } from './documents/chunks.ts'
import { writeHeld } from './documents/held.ts'
import { paths } from './documents/paths.ts'
import { unitsOf } from './units.ts'
import type { AssignmentWrite, Takeover, Writes } from './writesOf.ts'

/** What is written at once, and what stands when it was. */
export type Multi = {
  ops: Op[]
  assignments: (AssignmentWrite & { chunks: number })[]
  takeovers: string[]
  ejects: string[]
  /** Chunks of no use: one that is missing is no matter. */
  isCleaning: boolean
}

/** What may not be cut in two. */
type Piece = Omit<Multi, 'isCleaning'>

/**
 * A round as operations (C-32, C-33): chunks before the heads that name them, all removals before what is given, each
 * write small enough for one packet. Every prefix of the list is a legal state.
 */
export function multisOf(writes: Writes, atMs: number): Multi[] {
  const chunks: Piece[] = []
  const heads: Piece[] = []
  const gives: Piece[] = []
  const old: Op[] = []
  for (const takeover of writes.takeovers) {
    heads.push(takeoverPiece(takeover, writes, atMs))
    old.push(...oldChunks(takeover.assignment))
  }
  for (const { id, version } of writes.ejects)
    heads.push({ ...noPiece, ops: [{ do: 'remove', path: paths.worker(id), version }], ejects: [id] })
  for (const assignment of writes.assignments) {
    const made = headPiece(assignment, writes)
    // Below a head that is not there no chunk can stand: it goes first, and nobody takes it before they are all there.
    if (assignment.version === null && made.chunks.length > 0) gives.push(made.head, ...made.chunks)
    else {
      chunks.push(...made.chunks)
      const list = assignment.gives ? gives : heads
      list.push(made.head)
    }
    old.push(...oldChunks(assignment))
  }
  return [
    ...packed(chunks, false),
    ...packed([...heads, ...gives], false),
    ...packed(
      old.map(op => ({ ...noPiece, ops: [op] })),
      true,
    ),
  ]
}

const noPiece: Piece = { ops: [], assignments: [], takeovers: [], ejects: [] }

function takeoverPiece({ id, node, held, assignment }: Takeover, writes: Writes, atMs: number): Piece {
  const { epoch, generation } = writes
  const ops: Op[] = node === null ? [] : [{ do: 'remove', path: paths.worker(id), version: node }]
  const { head } = headPiece(assignment, writes)
  const left = { atMs, epoch, generation, chunks: 0, units: new Map(), state: 'left' as const, errors: [] }
  return {
    ...noPiece,
    ops: [...ops, ...head.ops, put(paths.held(id), writeHeld(left), held)],
    assignments: head.assignments,
    takeovers: [id],
  }
}

function headPiece(assignment: AssignmentWrite, { epoch, generation }: Writes): { head: Piece; chunks: Piece[] } {
  const { id, version, specs } = assignment
  const { head, chunks } = cutDocument(unitsOf(assignment.units), (units, count) =>
    writeAssignment({ epoch, generation, chunks: count, units, specs }),
  )
  return {
    head: {
      ...noPiece,
      ops: [put(paths.assignment(id), head, version)],
      assignments: [{ ...assignment, chunks: chunks.length }],
    },
    chunks: chunks.map((data, index) => ({
      ...noPiece,
      ops: [{ do: 'create', path: paths.assignmentChunk(id, { epoch, generation }, index), data, mode: 'persistent' }],
    })),
  }
}

function oldChunks({ id, before }: AssignmentWrite): Op[] {
  if (before === null) return []
  return Array.from({ length: before.chunks }, (_, chunk) => ({
    do: 'remove',
    path: paths.assignmentChunk(id, before, chunk),
    version: null,
  }))
}

function put(path: string, data: string, version: number | null): Op {
  return version === null ? { do: 'create', path, data, mode: 'persistent' } : { do: 'set', path, data, version }
}

function packed(pieces: readonly Piece[], isCleaning: boolean): Multi[] {
  const multis: Multi[] = []
  let open: Multi | null = null
  let bytes = 0
  for (const piece of pieces) {
    const more = piece.ops.reduce((sum, op) => sum + op.path.length + ('data' in op ? bytesOf(op.data) : 0), 0)
    const fits = open !== null && bytes + more <= writeBytesMax && open.ops.length + piece.ops.length < writeOpsMax
    if (open === null || !fits) {
      open = { ops: [], assignments: [], takeovers: [], ejects: [], isCleaning }
      multis.push(open)
      bytes = 0
    }
    bytes += more
    open.ops.push(...piece.ops)
    open.assignments.push(...piece.assignments)
    open.takeovers.push(...piece.takeovers)
    open.ejects.push(...piece.ejects)
  }
  return multis
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length
}
