import { setMaxListeners } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cache, openCache } from './cache.ts'
import { keepsFolder, RigError } from './errors.ts'
import { type Guard, startGuard } from './guard.ts'
import { sayKept } from './keptFolder.ts'
import { memoryShareMax, startTriesMax } from './limits.ts'
import type { RigContext, Running, Wanted } from './part.ts'
import { type Ports, randomPorts } from './ports.ts'
import { findTool, type Tool } from './tools.ts'

export type Wishes = Record<string, Wanted<Running<unknown>>>
type Parts<W extends Wishes> = { [K in keyof W]: Awaited<ReturnType<W[K]['start']>> }

export type RigOptions = {
  cache?: Cache
  ports?: Ports
  /** Ends the start (and later the set's children) early. */
  signal?: AbortSignal
  /** Lines of progress, each with the running name of its part. */
  progress?: (name: string, line: string) => void
  /** What the machine has left, in MiB. */
  availableMb?: number
  /** Called at the end with a run folder that stays behind; default `sayKept`. */
  kept?: (dir: string) => void
  /** Default: `RIG_KEEP=1` in the environment. */
  keep?: boolean
}

/** A set that runs. `parts` has the keys of the wishes. */
export interface RigSet<W extends Wishes> extends AsyncDisposable {
  readonly parts: Parts<W>
  /** The addresses of all parts by their keys: what `MILLRACE_RIG` holds. */
  readonly addresses: { [K in keyof W]: Parts<W>[K]['address'] }
  readonly dir: string
  /** Resolves with `rig-died` when a part ends by itself; the other parts live on. Pending for ever otherwise. */
  readonly died: Promise<RigError>
  /** The run folder is to stay (a test failed). */
  keep(): void
  /** Kills all parts and removes the run folder, unless it is to be kept. Further calls wait for the first. */
  dispose(): Promise<void>
}

/** The running name of a part: the key `east` of a kafka is `kafka.east`, the key `kafka` is `kafka`. */
function runningName(part: string, key: string): string {
  return part === key ? part : `${part}.${key}`
}

/**
 * Starts all parts at once and resolves when each is ready. Rejects with the first `RigError`, after everything
 * has been ended again. Nothing is made before the tools and the memory have been looked at.
 */
export async function rig<W extends Wishes>(wishes: W, options: RigOptions = {}): Promise<RigSet<W>> {
  const cache = options.cache ?? openCache()
  checkMemory(wishes, options.availableMb ?? process.availableMemory() / 2 ** 20)
  await checkTools(wishes, cache)
  const run = await openRun(options)
  const context = (name: string): RigContext => ({
    name,
    dir: run.dir,
    ports: options.ports ?? randomPorts(),
    cache,
    guard: run.guard,
    signal: run.signal,
    progress: line => options.progress?.(name, line),
    atEnd: release => void run.releases.push(release),
    died: run.died,
  })
  const starts = Object.entries(wishes).map(async ([key, wish]): Promise<[string, Running<unknown>]> => {
    const ctx = context(runningName(wish.part, key))
    const began = performance.now()
    const running = await startWithPorts(wish, ctx)
    ctx.progress(`ready ${((performance.now() - began) / 1_000).toFixed(1)} s`)
    return [key, running]
  })
  try {
    const parts = Object.fromEntries(await Promise.all(starts)) as Parts<W>
    const addresses = Object.fromEntries(Object.entries(parts).map(([key, { address }]) => [key, address]))
    return {
      parts,
      addresses: addresses as RigSet<W>['addresses'],
      dir: run.dir,
      died: run.death,
      keep: run.keep,
      dispose: run.end,
      [Symbol.asyncDispose]: run.end,
    }
  } catch (error) {
    // The caller's signal is no fault: nothing is worth keeping then.
    if (keepsFolder(error) && !options.signal?.aborted) run.keep()
    run.abort(error)
    await Promise.allSettled(starts)
    await run.end()
    throw error
  }
}

/** a start that met a taken port is repeated, with other ports and an empty folder. */
async function startWithPorts(wish: Wanted<Running<unknown>>, ctx: RigContext): Promise<Running<unknown>> {
  for (let tries = 1; ; tries++) {
    try {
      return await wish.start(ctx)
    } catch (error) {
      if (!(error instanceof RigError) || error.code !== 'rig-port' || tries >= startTriesMax) throw error
      ctx.progress('port taken, again')
      await rm(join(ctx.dir, ctx.name), { recursive: true, force: true })
    }
  }
}

function checkMemory(wishes: Wishes, availableMb: number): void {
  const needMb = Object.values(wishes).reduce((sum, wish) => sum + wish.memoryMb, 0)
  const mayMb = availableMb * memoryShareMax
  if (needMb <= mayMb) return
  const gigabytes = (mb: number) => `${(mb / 1_024).toFixed(1)} GB`
  throw new RigError(
    'rig-memory',
    `the set needs ${gigabytes(needMb)}, ${memoryShareMax * 100} % of what is free are ${gigabytes(mayMb)}`,
    { hint: 'fewer brokers, or a smaller heapMb' },
  )
}

async function checkTools(wishes: Wishes, cache: Cache): Promise<void> {
  const needed = new Set<Tool>()
  for (const wish of Object.values(wishes)) for (const tool of await wish.needs(cache)) needed.add(tool)
  for (const tool of needed) await findTool(tool)
}

type Run = {
  dir: string
  guard: Guard
  signal: AbortSignal
  releases: (() => Promise<void>)[]
  death: Promise<RigError>
  died(error: RigError): void
  keep(): void
  abort(error: unknown): void
  end(): Promise<void>
}

/** The run folder and the guard of one set, and their end. */
async function openRun(options: RigOptions): Promise<Run> {
  const guard = await startGuard()
  const dir = await mkdtemp(join(tmpdir(), 'millrace-rig-'))
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  const onAbort = () => controller.abort(options.signal?.reason)
  options.signal?.addEventListener('abort', onAbort, { once: true })
  if (options.signal?.aborted) onAbort()
  const releases: (() => Promise<void>)[] = []
  const { promise: death, resolve: die } = Promise.withResolvers<RigError>()
  let kept = false
  const keep = () => {
    if (kept) return
    kept = true
    guard.keep(dir)
  }
  if (options.keep ?? process.env['RIG_KEEP'] === '1') keep()
  else await guard.removeAtEnd(dir)
  const endOnce = async () => {
    options.signal?.removeEventListener('abort', onAbort)
    // Kills every child, also one that is just starting (child.ts).
    controller.abort(new Error('the set has ended'))
    await Promise.all(guard.exits())
    await Promise.allSettled(releases.map(release => release()))
    if (!kept) await rm(dir, { recursive: true, force: true })
    await guard.end()
    if (kept) (options.kept ?? sayKept)(dir)
  }
  let ending: Promise<void> | null = null
  return {
    dir,
    guard,
    signal: controller.signal,
    releases,
    death,
    died(error) {
      keep()
      die(error)
    },
    keep,
    abort: error => controller.abort(error),
    end() {
      ending ??= endOnce()
      return ending
    },
  }
}
