import { registerHooks } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import type { Patch } from './planted.ts'
import type { SimOptions } from './simulate.ts'

/**
 * Runs seeds in a thread of its own. What it is told to patch is replaced in the source of the modules as they are
 * loaded, so that no product code has a switch (C-114); a text that is not there any more is a fault of the patch.
 */
export type ThreadData = { patches: readonly Patch[]; options: Omit<SimOptions, 'tell'>; traced: boolean }

const { patches, options, traced } = workerData as ThreadData
// Each abort and each refusal makes an error; where they come from is only of use to somebody who looks at one seed.
if (!traced) Error.stackTraceLimit = 0
const loaded = new Set<Patch>()

registerHooks({
  load(url, context, next) {
    const found = next(url, context)
    const mine = patches.filter(patch => url.endsWith(`/${patch.file}`))
    if (mine.length === 0) return found
    let source = String(found.source instanceof Uint8Array ? Buffer.from(found.source) : found.source)
    for (const patch of mine) {
      if (!source.includes(patch.from)) throw new Error(`${patch.file} has no text to replace any more: ${patch.from}`)
      source = source.replace(patch.from, () => patch.to)
      loaded.add(patch)
    }
    return { ...found, source }
  },
})

const { simulate } = await import('./simulate.ts')
for (const patch of patches) if (!loaded.has(patch)) throw new Error(`${patch.file} is not loaded`)

// All that is waited for is virtual (C-110).
for (const [of, name] of [
  [Date, 'now'],
  [Math, 'random'],
  [globalThis, 'setTimeout'],
  [globalThis, 'setInterval'],
] as const) {
  const real = () => {
    throw new Error(`${name} is used where clock and chance are handed in`)
  }
  Object.defineProperty(of, name, { value: real })
}

parentPort?.on('message', (seed: number) => {
  const lines: string[] = []
  const tell = traced ? (line: string) => void lines.push(line) : null
  void simulate(seed, { ...options, tell }).then(result => parentPort?.postMessage({ result, lines }))
})
parentPort?.postMessage('ready')
