import { posix } from 'node:path'
import { blanked } from './code.ts'
import { lineAt, type Source } from './tree.ts'

/** One import or re-export. `to` is a path of the repository, null for a library or a `node:` module. */
export type Import = { from: string; line: number; specifier: string; to: string | null; typeOnly: boolean }

/** What stands between the quotes is blank here, and read from the source at the same place. */
const statement = /\b(?:import|export)\b(\s+type\b)?[^'"`;()=]*?\bfrom\s*(['"]) *\2/g
const bare = /\bimport\s*\(?\s*(['"]) *\1/g

export function importsOf(source: Source): Import[] {
  const text = blanked(source.text)
  const found: Import[] = []
  const add = (match: RegExpExecArray, typeOnly: boolean) => {
    const end = match.index + match[0].length - 1
    const specifier = source.text.slice(text.lastIndexOf(text.charAt(end), end - 1) + 1, end)
    const line = lineAt(text, end)
    found.push({ from: source.path, line, specifier, to: target(source.path, specifier), typeOnly })
  }
  for (const match of text.matchAll(statement)) add(match, match[1] !== undefined)
  for (const match of text.matchAll(bare)) add(match, false)
  return found.sort((a, b) => a.line - b.line)
}

function target(from: string, specifier: string): string | null {
  return specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier) : null
}

/** The name of the package of a specifier: `@a/b/c` → `@a/b`; a `node:` module is its own name. */
export function packageOf(specifier: string): string {
  const parts = specifier.split('/')
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? specifier)
}

export const isCode = (path: string) => /\.(ts|mts|mjs)$/.test(path)
