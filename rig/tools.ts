import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { RigError } from './errors.ts'
import { toolTimeoutMs } from './limits.ts'
import { javaVersionMin, mavenVersionMin } from './versions.ts'

/** Programs of the machine that a part may need. */
export type Tool = 'java' | 'mvn' | 'openssl'

/** `path` is what to start, `version` what the tool says of itself: `17.0.15+6-Debian-1deb12u1`. */
export type FoundTool = { tool: Tool; path: string; version: string }

type ToolFacts = {
  path(env: NodeJS.ProcessEnv): string
  args: string[]
  /** Tried in this order. */
  version: RegExp[]
  min: string
  packages: string
}

const facts: Record<Tool, ToolFacts> = {
  java: {
    path: env => (env['JAVA_HOME'] ? join(env['JAVA_HOME'], 'bin', 'java') : 'java'),
    args: ['-version'],
    version: [/\(build ([^,)\s]+)/, /version "([^"]+)"/],
    min: String(javaVersionMin),
    packages: 'openjdk-17-jre-headless',
  },
  mvn: {
    path: env => env['MVN'] || 'mvn',
    args: ['-B', '-v'],
    version: [/Apache Maven (\S+)/],
    min: mavenVersionMin,
    packages: 'maven',
  },
  openssl: {
    path: () => 'openssl',
    args: ['version'],
    version: [/SSL (\S+)/],
    min: '1.1',
    packages: 'openssl',
  },
}

export const tools = Object.keys(facts) as Tool[]

const found = new Map<string, Promise<FoundTool>>()

/**
 * The tool, after a look at its version; the answer is kept for the life of the process.
 * Rejects with `rig-tool-missing`, naming what was found and what is needed.
 */
export function findTool(tool: Tool, env: NodeJS.ProcessEnv = process.env): Promise<FoundTool> {
  const path = facts[tool].path(env)
  const key = `${path}\n${env['PATH']}`
  const known = found.get(key)
  if (known !== undefined) return known
  const asked = lookAt(tool, path, env)
  found.set(key, asked)
  return asked
}

async function lookAt(tool: Tool, path: string, env: NodeJS.ProcessEnv): Promise<FoundTool> {
  const { args, version: patterns, min, packages } = facts[tool]
  const hint = `install it (Debian: apt-get install ${packages}), or use clusters that exist: --from and --to`
  const said = await outputOf(path, args, env)
  if (said === null) throw new RigError('rig-tool-missing', `${tool} not found (${path}), ≥ ${min} needed`, { hint })
  const version = patterns.map(pattern => pattern.exec(said)?.[1]).find(match => match !== undefined)
  if (version === undefined)
    throw new RigError('rig-tool-missing', `${path} does not say its version, ${tool} ≥ ${min} needed`, {
      hint,
      lines: said.trim().split('\n').slice(0, 5),
    })
  if (isLower(version, min))
    throw new RigError('rig-tool-missing', `${tool} ${version} found (${path}), ≥ ${min} needed`, { hint })
  return { tool, path, version }
}

async function outputOf(path: string, args: string[], env: NodeJS.ProcessEnv): Promise<string | null> {
  const child = spawn(path, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: toolTimeoutMs })
  let said = ''
  child.stdout.on('data', text => {
    said += text
  })
  child.stderr.on('data', text => {
    said += text
  })
  try {
    await once(child, 'close')
    return said
  } catch {
    return null
  }
}

/** Number by number: 3.8.7 is lower than 3.10, 17.0.15+6 is not lower than 17. */
function isLower(version: string, min: string): boolean {
  const have = version.split(/[^0-9]+/)
  for (const [at, want] of min.split('.').entries()) {
    const difference = Number(have[at] ?? 0) - Number(want)
    if (difference !== 0) return difference < 0
  }
  return false
}
