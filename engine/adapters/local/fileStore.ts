import { lstat, rename, rm, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { checkStoreKey, storeOwnPart } from '../../flow/storeKey.ts'
import { storeListMax } from '../../limits.ts'
import type { Chance, Clock } from '../../ports/clock.ts'
import type { Listed, ObjectStore, Only, Put, Range } from '../../ports/store.ts'
import { readObject, tagOf } from './fileStoreBytes.ts'
import { away, errnoOf, notBoth, storeFault } from './fileStoreFault.ts'
import { storeLock } from './fileStoreLock.ts'
import { bytesOf, keysUnder } from './fileStoreWalk.ts'
import {
  makeFoldersOf,
  placeOf,
  type Root,
  removeEmptyFolders,
  removeLeftovers,
  rootOf,
  syncFolders,
  writeAside,
} from './fileStoreWrite.ts'

/**
 * A folder as an object store (DESIGN §6): a key is a path below it. Written aside, synced, then renamed under a lock
 * that all processes share; read without one. The folder itself is never made by us: where a disk is not mounted, a new
 * one would look like a store that lost everything.
 */
export function fileStore(path: string, how: { clock: Clock; chance: Chance }): ObjectStore {
  const { clock, chance } = how
  const own = join(path, storeOwnPart)
  const lock = storeLock(own, clock)
  let swept: Promise<void> | null = null

  /** Every fault in our words, with what was tried and where. */
  async function tried<T>(verb: string, key: string, work: (root: Root, what: string) => Promise<T>): Promise<T> {
    const what = `${verb} ${key} in file://${path}`
    const root = await rootOf(path).catch((error: unknown) => {
      throw errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR' ? rootGone(what, path) : storeFault(what, error)
    })
    try {
      return await work(root, what)
    } catch (error) {
      throw storeFault(what, error)
    }
  }

  async function read(key: string, range: Range | 'all' | 'none', root: Root) {
    const place = await placeOf(key, root)
    return place === null ? null : readObject(place, range)
  }

  /** What stands against a condition now; null: nothing. */
  async function refusedBy(only: Only | undefined, key: string, root: Root): Promise<'exists' | 'changed' | null> {
    if (only === undefined) return null
    const found = await read(key, 'none', root)
    if ('ifNoneMatch' in only) return found === null ? null : 'exists'
    return found?.tag === only.ifMatch ? null : 'changed'
  }

  async function put(key: string, body: Uint8Array, only: Only | undefined, root: Root, what: string): Promise<Put> {
    // Asked before anything is written: a create that comes too late costs no space.
    const early = await refusedBy(only, key, root)
    if (early !== null) return { done: false, why: early }
    swept ??= removeLeftovers(own, clock)
    await swept.catch(() => {
      swept = null
    })
    const aside = await writeAside(own, root, body, chance)
    try {
      const made = await lock(what, async () => {
        const why = await refusedBy(only, key, root)
        if (why !== null) return why
        const folders = await makeFoldersOf(key, root)
        await renameOver(aside, key, root)
        return folders
      })
      if (typeof made === 'string') return { done: false, why: made }
      await syncFolders(made)
      return { done: true, tag: tagOf(body) }
    } finally {
      await rm(aside, { force: true })
    }
  }

  return {
    async put(key, body, only) {
      checkStoreKey(key)
      return tried('put', key, (root, what) => put(key, body, only, root, what))
    },
    async get(key, range) {
      checkStoreKey(key)
      return tried('get', key, root => read(key, range ?? 'all', root))
    },
    async head(key) {
      checkStoreKey(key)
      const found = await tried('head', key, root => read(key, 'none', root))
      return found === null ? null : { bytes: found.bytes, tag: found.tag }
    },
    async list(prefix, startAfter = '') {
      const folder = prefix.slice(0, Math.max(0, prefix.lastIndexOf('/')))
      if (folder !== '') checkStoreKey(folder)
      return tried('list', prefix, root => listed(root, { prefix, folder, startAfter }, clock))
    },
    async delete(key) {
      checkStoreKey(key)
      await tried('delete', key, (root, what) => lock(what, () => removed(key, root)))
    },
  }
}

async function renameOver(aside: string, key: string, root: Root): Promise<void> {
  try {
    await rename(aside, join(root.real, key))
  } catch (error) {
    throw ['EISDIR', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errnoOf(error)) ? notBoth(key, error) : error
  }
}

async function removed(key: string, root: Root): Promise<void> {
  const place = await placeOf(key, root)
  if (place === null || !(await lstat(place)).isFile()) return
  await unlink(place)
  await syncFolders([dirname(place)])
  await removeEmptyFolders(place, root)
}

/** Sizes asked for side by side: one after the other they take most of the time of a list. */
const lookedAtOnce = 64

async function listed(
  root: Root,
  asked: { prefix: string; folder: string; startAfter: string },
  clock: Pick<Clock, 'wallMs'>,
): Promise<Listed> {
  // Taken first: what appears while we look may be missing, and is newer than this.
  const nowMs = clock.wallMs()
  const objects: Listed['objects'] = []
  if (asked.folder !== '' && (await placeOf(asked.folder, root)) === null) return { objects, more: false, nowMs }
  let keys: string[] = []
  const look = async () => {
    const sizes = await Promise.all(keys.map(key => bytesOf(join(root.real, key))))
    for (const [at, key] of keys.entries()) {
      const bytes = sizes[at] ?? null
      if (bytes !== null) objects.push({ key, bytes })
    }
    keys = []
  }
  for await (const key of keysUnder(root.real, asked.prefix, asked.startAfter)) {
    if (keys.push(key) === lookedAtOnce) await look()
    if (objects.length > storeListMax) break
  }
  await look()
  return { objects: objects.slice(0, storeListMax), more: objects.length > storeListMax, nowMs }
}

function rootGone(what: string, path: string) {
  return away(`${what}: the folder ${path} is not there`)
}
