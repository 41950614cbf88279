import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { storeLockAgainMs, storeLockWaitMs } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { away, denied, errnoOf, storeFault } from './fileStoreFault.ts'

/** One process at a time, and in it one at a time, between the look at an object and its change. */
export type StoreLock = <T>(what: string, work: () => Promise<T>) => Promise<T>

/**
 * The lock is one that the kernel gives back when its process dies, however it dies: a file with a pid in it would have
 * to be judged stale by somebody, and two who judge it so at once both hold it. Node gives such locks only through
 * SQLite: an empty database file, a transaction that is begun and rolled back, never a byte written, so it works on a
 * full disk too. The file is opened by nobody else: closing it anywhere in this process would let the lock go.
 */
export function storeLock(own: string, clock: Pick<Clock, 'nowMs'>): StoreLock {
  const path = join(own, 'lock')
  let last: Promise<unknown> = Promise.resolve()

  async function locked<T>(what: string, work: () => Promise<T>): Promise<T> {
    const release = await taken(what)
    try {
      return await work()
    } finally {
      release()
    }
  }

  async function taken(what: string): Promise<() => void> {
    const sinceMs = clock.nowMs()
    for (;;) {
      const release = await tried(what)
      if (release !== null) return release
      if (clock.nowMs() - sinceMs > storeLockWaitMs) {
        throw away(`${what}: another process holds ${path} for ${storeLockWaitMs / 1_000} s`)
      }
      // The timer holds this process: what is waited for happens in another one.
      await wait(storeLockAgainMs)
    }
  }

  async function tried(what: string): Promise<(() => void) | null> {
    let database: DatabaseSync | null = null
    try {
      await mkdir(own, { mode: 0o750 }).catch((error: unknown) => {
        if (errnoOf(error) !== 'EEXIST') throw error
      })
      database = new DatabaseSync(path, { timeout: 0 })
      database.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE')
    } catch (error) {
      database?.close()
      if (isBusy(error)) return null
      throw lockFault(what, path, error)
    }
    const held = database
    return () => held.close()
  }

  return (what, work) => {
    const turn = last.then(() => locked(what, work))
    last = turn.catch(() => {})
    return turn
  }
}

// Result codes of SQLite; the low byte is the kind.
const sqlite = { perm: 3, busy: 5, locked: 6, readonly: 8, cantOpen: 14 }

function resultCode(error: unknown): number | null {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : null
}

function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === sqlite.busy || code === sqlite.locked
}

function lockFault(what: string, path: string, error: unknown) {
  const code = resultCode(error)
  if (code === null) return storeFault(what, error)
  const message = `${what}: ${path} cannot be locked: ${error instanceof Error ? error.message : ''}`
  return code === sqlite.perm || code === sqlite.readonly || code === sqlite.cantOpen
    ? denied(message, error)
    : away(message, error)
}
