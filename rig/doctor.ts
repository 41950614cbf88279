import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { cacheRoot, openCache } from './cache.ts'
import { describeError, exitOf } from './errors.ts'
import { cacheDiskMbMin } from './limits.ts'
import { parts } from './parts.ts'
import { progressAt } from './progress.ts'
import { rig } from './set.ts'
import { findTool, tools } from './tools.ts'
import { kafkaVersion, zookeeperVersion } from './versions.ts'

/** `rig doctor`: versions, tools, disk and memory. `--fresh` starts one of each part from an empty cache (R-36). */
export async function doctor(fresh: boolean, signal: AbortSignal): Promise<number> {
  print(`kafka      ${kafkaVersion}`)
  print(`zookeeper  ${zookeeperVersion}`)
  let exit = 0
  for (const tool of tools) {
    const said = await findTool(tool).then(
      found => `${found.version}  ${found.path}`,
      error => {
        exit = exitOf(error)
        return describeError(error)
      },
    )
    print(`${tool.padEnd(9)}  ${said}`)
  }
  const freeMb = await freeDiskMb(cacheRoot())
  print(`cache      ${cacheRoot()}  ${freeMb} MB free${freeMb < cacheDiskMbMin ? `, ${cacheDiskMbMin} MB needed` : ''}`)
  print(`memory     ${Math.round(process.availableMemory() / 2 ** 20)} MB available`)
  return exit === 0 && fresh ? startFresh(signal) : exit
}

async function startFresh(signal: AbortSignal): Promise<number> {
  const root = await mkdtemp(join(tmpdir(), 'millrace-rig-cache-'))
  const progress = progressAt(process.stderr)
  try {
    const wanted = Object.entries(parts).map(([name, want]) => [name, want({ count: null, flags: [], values: {} })])
    await using set = await rig(Object.fromEntries(wanted), { cache: openCache(root), signal, progress: progress.line })
    print(`fresh      ${Object.keys(set.parts).join(', ')} started from an empty cache`)
    return 0
  } finally {
    progress.stop()
    await rm(root, { recursive: true, force: true })
  }
}

/** Of the nearest folder above that is there. */
async function freeDiskMb(path: string): Promise<number> {
  const found = await statfs(path).catch(() => null)
  if (found === null) return freeDiskMb(dirname(path))
  return Math.round((found.bavail * found.bsize) / 2 ** 20)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
