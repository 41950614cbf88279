import { type Fault, faultOf, MillraceError } from '../errors.ts'
import type { Coordinator } from '../ports/coordinator.ts'
import { acceptAssignment, type Generation } from './decide/assignment.ts'
import { type AssignmentDoc, readAssignment } from './decide/documents/assignment.ts'
import { paths } from './decide/documents/paths.ts'
import { readWhole } from './wholeDocument.ts'

export type Assignments = {
  /** After each answered beat (C-48). */
  look(): void
}

export type AssignmentsHow = {
  coordinator: Coordinator
  id: string
  signal: AbortSignal
  /** Nothing new is taken while the lease closes (C-5). */
  mayTake(): boolean
  /** Of the newest document that was taken. */
  seen(): Generation | null
  apply(doc: AssignmentDoc): void
  stale(doc: Generation): void
  /** After each look that was answered, also by nothing new: what is there has been taken. */
  looked(): void
  trouble(fault: Fault | null): void
  fatal(error: unknown): void
}

/** Reads what this worker is to run, at each hint and after each beat, and takes what is newer (C-24, C-44). */
export function startAssignments(how: AssignmentsHow): Assignments {
  const { coordinator, id, signal } = how
  const path = paths.assignment(id)
  let busy = false
  let again = false
  /** Of the document read last, so that one that has not changed costs no more than its reading. */
  let tag: string | null = null

  function look(): void {
    again = busy
    if (busy || signal.aborted) return
    busy = true
    void looks()
      .catch(how.fatal)
      .finally(() => {
        busy = false
        if (again) look()
      })
  }

  async function looks(): Promise<void> {
    try {
      await lookOnce()
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error
      // What runs goes on; the leader writes it anew (COORDINATION §10).
      if (error.code.startsWith('state-')) how.trouble(faultOf(error, error.code))
      return
    }
    if (!signal.aborted && how.mayTake()) how.looked()
  }

  async function lookOnce(): Promise<void> {
    const node = await coordinator.read(path)
    if (node === null || node.tag === tag || signal.aborted || !how.mayTake()) return
    const parse = (text: string) => readAssignment(text, path)
    const chunkPath = (at: Generation, chunk: number) => paths.assignmentChunk(id, at, chunk)
    const found = await readWhole(coordinator, path, { parse, chunkPath, first: node })
    if (found === null || signal.aborted || !how.mayTake()) return
    tag = found.node.tag
    how.trouble(null)
    const accepted = acceptAssignment(how.seen(), found.doc)
    if (accepted === 'apply') how.apply(found.doc)
    else if (accepted === 'stale') how.stale(found.doc)
  }

  coordinator.watch(path, 'data', look, signal)
  look()
  return { look }
}
