import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openCache, prune } from './cache.ts'
import { kafkaJars, zookeeperJars } from './versions.ts'

/** `rig cache`: what lies there and how large it is; `--prune` removes what today's recipes do not name. */
export async function listCache(pruning: boolean): Promise<number> {
  const cache = openCache()
  if (pruning) for (const name of await prune(cache, [kafkaJars, zookeeperJars], Date.now())) print(`removed ${name}`)
  print(cache.root)
  for (const name of await readdir(cache.root).catch(() => [])) {
    const bytes = await bytesBelow(join(cache.root, name))
    print(`  ${name}  ${Math.round(bytes / 2 ** 20)} MB`)
  }
  return 0
}

async function bytesBelow(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  const sizes = await Promise.all(
    names.map(name => stat(join(folder, name)).then(found => (found.isFile() ? found.size : 0))),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
