import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { Got, Range } from '../../ports/store.ts'
import { errnoOf } from './fileStoreFault.ts'

const readBytes = 1024 * 1024

/** The tag of a content: its hash, for times and inodes of a file may come again with another content. */
export function tagOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 32)
}

/**
 * Reads an object as it was at one moment: it is replaced by renaming, so an open file never changes. All of it is
 * hashed, also for a piece. Null: not there, or no object (a folder, a pipe, which is opened without waiting).
 */
export async function readObject(path: string, range: Range | 'all' | 'none'): Promise<Got | null> {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENXIO'].includes(errnoOf(error))) return null
    throw error
  }
  try {
    return (await file.stat()).isFile() ? await readAll(file, range) : null
  } finally {
    await file.close()
  }
}

async function readAll(file: FileHandle, range: Range | 'all' | 'none'): Promise<Got> {
  const from = typeof range === 'object' ? range.from : 0
  const until = typeof range === 'object' ? from + range.bytes : range === 'all' ? Number.POSITIVE_INFINITY : 0
  const hash = createHash('sha256')
  const pieces: Buffer[] = []
  const scratch = Buffer.allocUnsafe(readBytes)
  let at = 0
  for (;;) {
    const { bytesRead } = await file.read(scratch, 0, scratch.length, at)
    if (bytesRead === 0) break
    const read = scratch.subarray(0, bytesRead)
    hash.update(read)
    const wanted = read.subarray(Math.max(0, from - at), Math.max(0, until - at))
    if (wanted.length > 0) pieces.push(Buffer.from(wanted))
    at += bytesRead
  }
  return { body: Buffer.concat(pieces), bytes: at, tag: hash.digest('hex').slice(0, 32) }
}
