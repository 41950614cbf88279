import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** One text of the repository; `path` is relative to its root, with forward slashes. Rules are functions over these. */
export type Source = { path: string; text: string }
/** What a rule found, and where: the line counts from 1. */
export type Breach = { path: string; line: number; says: string }

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** What `.gitignore` names, and what is made by a tool. */
const skipped = new Set(['node_modules', '.git', 'scratch', 'artifacts', '.DS_Store', 'package-lock.json'])

/** Every text of the tree, sorted by path. A file that is taken away while we read is left out. */
export function readTree(folder = root): Source[] {
  const found: Source[] = []
  const walk = (under: string) => {
    for (const entry of readdirSync(join(folder, under), { withFileTypes: true })) {
      const path = under === '' ? entry.name : `${under}/${entry.name}`
      if (skipped.has(entry.name) || entry.name.endsWith('.log')) continue
      if (entry.isDirectory()) walk(path)
      else if (entry.isFile()) {
        const text = textOf(join(folder, path))
        if (text !== null) found.push({ path, text })
      }
    }
  }
  walk('')
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

function textOf(file: string): string | null {
  try {
    const text = readFileSync(file, 'utf8')
    return text.includes('\0') ? null : text
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

/** The line (from 1) of a place in a text. */
export function lineAt(text: string, index: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < index; at = text.indexOf('\n', at + 1)) line++
  return line
}

/** One line a breach, as editors and terminals link it. */
export function listed(breaches: Breach[]): string {
  return breaches.map(breach => `${breach.path}:${breach.line}  ${breach.says}`).join('\n')
}
