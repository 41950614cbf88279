import { createHash } from 'node:crypto'
import { access, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { RigError } from './errors.ts'
import type { Guard } from './guard.ts'
import { strayAfterMs } from './limits.ts'

/** What is made once and shared by all sets of the machine. Nothing in it is needed after deletion. */
export interface Cache {
  readonly root: string
  /** Where the folder of this recipe is or would be: `<root>/<kind>-<first 16 hex of its sha256>`. */
  path(kind: string, recipe: string): string
  has(path: string): Promise<boolean>
  /**
   * Gives `path`, after `make` has filled it if it was not there. `make` gets a folder `tmp-…` beside it and returns what in it is to
   * become `path`, a file or a folder. Safe against another process that makes the same: the loser deletes its own.
   */
  make(path: string, guard: Guard, make: (temporary: string) => Promise<string>): Promise<string>
}

/** `MILLRACE_RIG_CACHE`, else `$XDG_CACHE_HOME/millrace-rig`, else `~/.cache/millrace-rig`. */
export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  return env['MILLRACE_RIG_CACHE'] || join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'millrace-rig')
}

// Two parts of one process want the same jars at once: one makes them, the other waits.
const beingMade = new Map<string, Promise<string>>()

export function openCache(root: string = cacheRoot()): Cache {
  return {
    root,
    path: (kind, recipe) => join(root, `${kind}-${hashOf(recipe)}`),
    has: exists,
    async make(path, guard, make) {
      if (await exists(path)) return path
      const other = beingMade.get(path)
      // If the other one fails, its set tells why; ours tries for itself.
      if (other !== undefined) return other.catch(() => this.make(path, guard, make))
      const mine = makeBeside(root, path, guard, make)
      beingMade.set(path, mine)
      return mine.finally(() => beingMade.delete(path))
    },
  }
}

async function makeBeside(
  root: string,
  path: string,
  guard: Guard,
  make: (temporary: string) => Promise<string>,
): Promise<string> {
  const temporary = await mkdir(dirname(path), { recursive: true })
    .then(() => mkdtemp(join(root, 'tmp-')))
    .catch(cause => {
      throw cacheError(root, cause)
    })
  await guard.removeAtEnd(temporary)
  try {
    const made = await make(temporary)
    // rename(2) refuses a target folder that is not empty, and replaces a file: either way nobody sees half of it.
    await rename(made, path).catch(async cause => {
      if (!(await exists(path))) throw cacheError(root, cause)
    })
    return path
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? cacheError(root, error) : error
  } finally {
    await rm(temporary, { recursive: true, force: true })
    await guard.keep(temporary)
  }
}

/** Removes what no recipe of today names, and folders `tmp-…` without an owner. Returns the names that went. */
export async function prune(cache: Cache, recipes: { kind: string; pom: string }[], nowMs: number): Promise<string[]> {
  const kept = new Set(recipes.map(recipe => cache.path(recipe.kind, recipe.pom)))
  const gone: string[] = []
  for (const name of await readdir(cache.root).catch(() => [])) {
    const path = join(cache.root, name)
    if (kept.has(path)) continue
    const young = name.startsWith('tmp-') && nowMs - (await stat(path)).mtimeMs < strayAfterMs
    if (young) continue
    await rm(path, { recursive: true, force: true })
    gone.push(name)
  }
  return gone
}

export function hashOf(recipe: string): string {
  return createHash('sha256').update(recipe).digest('hex').slice(0, 16)
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function cacheError(root: string, cause: unknown): RigError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new RigError('rig-cache', `the cache ${root} cannot be written: ${why}`, {
    hint: 'set MILLRACE_RIG_CACHE to a folder with 700 MB of room',
    cause,
  })
}
