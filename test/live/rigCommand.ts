import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const rigMain = new URL('../../rig/main.ts', import.meta.url).pathname

export type Ended = { code: number | null; signal: string | null; stdout: string; stderr: string }

/** A script of the rig in a process of its own, with `env` over ours. */
export function startScript(script: string, args: string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', script, ...args], {
    env: { ...process.env, RIG_KEEP: '', RIG_ARTIFACTS: '', npm_lifecycle_event: undefined, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text
  })
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal, stdout, stderr }))
  return { child, ended }
}

/** A folder for one test; gone at the end of the block. */
export function folder(name: string): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), `millrace-test-${name}-`))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** Resolves when `holds` does; asked again and again, since nothing tells of the end of a process that is not ours. */
export async function until(holds: () => boolean | Promise<boolean>, limitMs: number, what: string): Promise<void> {
  const end = performance.now() + limitMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

export function groupLives(pid: number): boolean {
  try {
    process.kill(-pid, 0)
    return true
  } catch {
    return false
  }
}
