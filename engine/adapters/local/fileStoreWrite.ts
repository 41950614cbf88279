import { type FileHandle, lstat, mkdir, open, readdir, realpath, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { storeLeftoverMs } from '../../limits.ts'
import type { Chance, Clock } from '../../ports/clock.ts'
import { denied, errnoOf, notBoth } from './fileStoreFault.ts'

/** The folder of a store as it is now, and what new files and folders in it take from it (LOGS L-48). */
export type Root = { real: string; group: number; inherits: number }

const fileMode = 0o640
const folderMode = 0o750
/** New folders of such a folder have its group by themselves; a plain chmod would take that away. */
const groupBit = 0o2000

export async function rootOf(path: string): Promise<Root> {
  const real = await realpath(path)
  const found = await lstat(real)
  if (!found.isDirectory()) throw Object.assign(new Error(`${path} is no folder`), { code: 'ENOTDIR' })
  return { real, group: found.gid, inherits: found.mode & groupBit }
}

/** All of a body on the disk, under a name of its own, before anybody can see it. Gives its path. */
export async function writeAside(own: string, root: Root, body: Uint8Array, chance: Chance): Promise<string> {
  const folder = join(own, 'aside')
  await makeFolder(own, root)
  await makeFolder(folder, root)
  const { path, file } = await openNew(folder, chance)
  try {
    // The mask of the process would take the group's right away; the group is what the root says.
    await file.chmod(fileMode)
    await ofGroup(root, () => file.chown(-1, root.group), (await file.stat()).gid)
    await file.writeFile(body)
    await file.sync()
    await file.close()
    return path
  } catch (error) {
    await file.close().catch(() => {})
    await rm(path, { force: true })
    throw error
  }
}

async function openNew(folder: string, chance: Chance): Promise<{ path: string; file: FileHandle }> {
  for (;;) {
    const path = join(folder, Math.floor(chance() * 2 ** 52).toString(36))
    try {
      return { path, file: await open(path, 'wx', fileMode) }
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error
    }
  }
}

async function ofGroup(root: Root, change: () => Promise<void>, group: number): Promise<void> {
  if (group === root.group) return
  try {
    await change()
  } catch (error) {
    // Who is not in that group cannot give it; the object is worth more than its group.
    if (errnoOf(error) !== 'EPERM') throw error
  }
}

/** Gives whether it was made now. */
async function makeFolder(path: string, root: Root): Promise<boolean> {
  try {
    await mkdir(path, { mode: folderMode })
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
  const folder = await open(path)
  try {
    await ofGroup(root, () => folder.chown(-1, root.group), (await folder.stat()).gid)
    await folder.chmod(folderMode | root.inherits)
  } finally {
    await folder.close()
  }
  return true
}

/** The folders that a key needs; gives those whose entries are new, for `syncFolders`. */
export async function makeFoldersOf(key: string, root: Root): Promise<string[]> {
  const changed: string[] = []
  let at = root.real
  for (const part of key.split('/').slice(0, -1)) {
    const under = at
    at = join(at, part)
    if (await makeFolder(at, root)) changed.push(under)
    else if (!(await lstat(at)).isDirectory()) {
      if ((await lstat(at)).isSymbolicLink()) throw throughLink(key)
      throw notBoth(key)
    }
  }
  return [...changed, at]
}

/** A name is on the disk only when its folder is. */
export async function syncFolders(paths: string[]): Promise<void> {
  for (const path of paths) {
    const folder = await open(path)
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  }
}

/** Folders that have become empty: they would stand in the way of a key of their name. */
export async function removeEmptyFolders(path: string, root: Root): Promise<void> {
  for (let at = dirname(path); at.startsWith(`${root.real}/`); at = dirname(at)) {
    try {
      await rmdir(at)
    } catch {
      return
    }
  }
}

/** Nobody is led out of the store by a link that somebody put there. Null: not there. */
export async function placeOf(key: string, root: Root): Promise<string | null> {
  const path = join(root.real, key)
  try {
    if ((await realpath(path)) !== path) throw throughLink(key)
    return path
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return null
    throw error
  }
}

function throughLink(key: string) {
  return denied(`${JSON.stringify(key)} leads through a link: a store has none`)
}

/** What processes left that were killed while they wrote. */
export async function removeLeftovers(own: string, clock: Pick<Clock, 'wallMs'>): Promise<void> {
  const folder = join(own, 'aside')
  const names = await readdir(folder).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  })
  for (const name of names) {
    const path = join(folder, name)
    const writtenMs = await lstat(path).then(
      found => found.mtimeMs,
      () => null,
    )
    if (writtenMs !== null && clock.wallMs() - writtenMs > storeLeftoverMs) await rm(path, { force: true })
  }
}
