import { readFile } from 'node:fs/promises'
import { MillraceError } from '../engine/errors.ts'
import { readExport, type StateExport } from '../engine/fleet/decide/export.ts'
import { stateBytesMax } from '../engine/limits.ts'
import { type ConfigFault, type ConfigPath, inOrder, shown } from '../engine/process/configFault.ts'
import { type ConfigText, readYaml } from '../engine/process/configYaml.ts'
import { faultLine } from './configLines.ts'
import type { Io } from './io.ts'
import { usage } from './usage.ts'

/** One flow of the file, as a PUT takes it. */
export type FlowOfFile = {
  flow: string
  kind: unknown
  spec: Record<string, unknown>
  /** The first value of what people change (C-38); null: the file says none. */
  overlay: { paused?: unknown; skips?: unknown } | null
  /** Where in the file stands what the API names, as editors link it. */
  where(path: string): string
}
export type FlowsFile = { is: 'flows'; flows: readonly FlowOfFile[] } | { is: 'export'; state: StateExport }

/**
 * What `-f FILE` names, `-` = standard input: flows as in `flows:` of a configuration, or what `millrace state` has
 * printed. Rejects with `config-invalid` that has every fault with its place.
 */
export async function readFlowsFile(io: Io, path: string | undefined, example: string): Promise<FlowsFile> {
  if (path === undefined) throw usage('missing: -f FILE, or -f - for standard input', example)
  const name = path === '-' ? 'standard input' : path
  const text = textOf(path === '-' ? await io.input() : await bytesOf(path), name)
  if (isExport(text)) return { is: 'export', state: readExport(text, name) }
  const read = readYaml(text)
  refuse(name, read.faults)
  const { at, flows } = flowsIn(name, read)
  const faults: ConfigFault[] = []
  const found = Object.entries(flows).flatMap(([flow, value]) => {
    if (isMapping(value)) return [flowOf(flow, value, { name, read, at: [...at, flow] })]
    const path = [...at, flow]
    const { line, column } = read.placeOf(path, 'value')
    const expected = 'a mapping with kind'
    faults.push({ path: path.join('.'), line, column, found: shown(value, path), expected, hint: null })
    return []
  })
  refuse(name, faults)
  if (found.length > 0) return { is: 'flows', flows: found }
  throw invalid(`${name} has no flows`, 'a mapping of names: clicks: { kind: mirror, … }')
}

function refuse(name: string, faults: readonly ConfigFault[]): void {
  if (faults.length === 0) return
  const lines = inOrder(faults).map(fault => faultLine(name, fault))
  throw invalid(`${name} is refused\n${lines.join('').trimEnd()}`, null)
}

/** A flow may be called `flows`; what has no kind is none. */
function flowsIn(name: string, { value }: ConfigText): { at: ConfigPath; flows: Record<string, unknown> } {
  if (!isMapping(value)) throw invalid(`${name}: found ${shown(value, [])}, expected flows by their names`, null)
  const { flows, ...others } = value
  if (!isMapping(flows) || Object.hasOwn(flows, 'kind')) return { at: [], flows: value }
  const [more] = Object.keys(others)
  if (more === undefined) return { at: ['flows'], flows }
  throw invalid(
    `${name}: ${more} stands beside flows: only flows can be applied`,
    'clusters and all else are of the file that the processes read',
  )
}

function flowOf(
  flow: string,
  value: Record<string, unknown>,
  file: { name: string; read: ConfigText; at: ConfigPath },
): FlowOfFile {
  const { kind, paused, skips, ...spec } = value
  const overlay = {
    ...(paused === undefined || paused === false ? {} : { paused: pausedOf(paused) }),
    ...(skips === undefined ? {} : { skips }),
  }
  return {
    flow,
    kind,
    spec,
    overlay: Object.keys(overlay).length === 0 ? null : overlay,
    where(path) {
      const parts = partsOf(path)
      const inFlow = parts[0] === 'spec' || parts[0] === 'overlay' ? parts.slice(1) : parts[0] === 'flow' ? [] : parts
      const { line, column } = file.read.placeOf([...file.at, ...inFlow], 'value')
      return `${file.name}:${line}:${column} ${[flow, ...inFlow].join('.')}`
    },
  }
}

/** `true` of the file is `"*"` of a document (C-38); all else is judged by the API. */
function pausedOf(paused: unknown): unknown {
  if (paused === true) return { '*': '*' }
  if (!isMapping(paused)) return paused
  const said = (of: unknown) => (of === true ? '*' : typeof of === 'number' ? String(of) : of)
  return Object.fromEntries(Object.entries(paused).map(([topic, of]) => [topic, said(of)]))
}

/** `spec.topics["a b"][0]` as the API writes it. */
function partsOf(path: string): (string | number)[] {
  const pieces = path.matchAll(/\.?([\w-]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/g)
  return [...pieces].map(([, name, at, quoted]) => {
    if (at !== undefined) return Number(at)
    return name ?? String(JSON.parse(`"${quoted ?? ''}"`))
  })
}

function isExport(text: string): boolean {
  if (!text.trimStart().startsWith('{')) return false
  try {
    const json: unknown = JSON.parse(text)
    return isMapping(json) && ['v', 'epoch', 'flows'].every(key => Object.hasOwn(json, key))
  } catch {
    return false
  }
}

async function bytesOf(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw invalid(`${path} ${code === 'ENOENT' ? 'is not there' : `cannot be read: ${code}`}`, null)
  }
}

function textOf(bytes: Uint8Array, name: string): string {
  if (bytes.length > stateBytesMax) throw invalid(`${name} is larger than ${stateBytesMax} bytes`, null)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalid(`${name} is not UTF-8`, null)
  }
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(text: string, hint: string | null): MillraceError {
  return new MillraceError('config-invalid', text, { hint })
}
