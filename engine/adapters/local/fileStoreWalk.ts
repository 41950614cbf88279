import type { Dirent } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { storeOwnPart } from '../../flow/storeKey.ts'
import { errnoOf } from './fileStoreFault.ts'

/**
 * The keys below `root` that begin with `prefix` and come after `after`, ascending by code unit, until the caller has
 * enough. Folders that can hold none of them are not read. What goes while we look is left out; links are no objects.
 */
export async function* keysUnder(root: string, prefix: string, after: string): AsyncGenerator<string> {
  yield* walk(prefix.slice(0, prefix.lastIndexOf('/') + 1))

  async function* walk(folder: string): AsyncGenerator<string> {
    for (const key of await sortedKeys(root, folder)) {
      const isFolder = key.endsWith('/')
      if (!key.startsWith(prefix) && !(isFolder && prefix.startsWith(key))) continue
      if (isFolder) {
        // All keys in it begin alike: they come after it, and before `after` when it differs before its end.
        if (key > after || after.startsWith(key)) yield* walk(key)
      } else if (key > after) yield key
    }
  }
}

/** A folder sorts with its slash: all that is in it stands in that place. */
async function sortedKeys(root: string, folder: string): Promise<string[]> {
  const entries = await entriesOf(join(root, folder))
  return entries
    .filter(entry => (entry.isFile() || entry.isDirectory()) && !(folder === '' && entry.name === storeOwnPart))
    .map(entry => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .sort((a, b) => (a < b ? -1 : 1))
}

async function entriesOf(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true })
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return []
    throw error
  }
}

/** Null when it has gone, or is no object. */
export async function bytesOf(path: string): Promise<number | null> {
  try {
    const found = await lstat(path)
    return found.isFile() ? found.size : null
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return null
    throw error
  }
}
