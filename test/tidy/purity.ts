import { blanked } from './code.ts'
import { importsOf, isCode } from './imports.ts'
import { type Breach, lineAt, type Source } from './tree.ts'

/** batch/, flow/ and every decide/ (DESIGN §2). */
const isPure = (path: string) => /^engine\/(batch\/|flow\/|.*\/decide\/)/.test(path)
/** Features get clock, chance and environment as arguments too (STYLE 7), but may use what Node computes. */
const isFeature = (path: string) => /^engine\/(mirror|job|function|fleet|credentials|logs|api)\//.test(path)

/** `(?<![.\w$])`: the global of that name, not somebody's property. */
const handedIn: [what: string, pattern: RegExp][] = [
  ['the clock', /\bDate\.now\b|\bnew\s+Date\b(?!\s*\(\s*[^)\s])|(?<![.\w$]|new\s)Date\s*\(/g],
  ['the clock', /(?<![.\w$])performance\b|\bAbortSignal\.timeout\b|(?<![.\w$])Temporal\.Now\b/g],
  ['the clock', /(?<![.\w$])(setTimeout|setInterval|setImmediate|clearTimeout|clearInterval|clearImmediate)\b/g],
  ['chance', /\bMath\.random\b|\b(randomUUID|randomBytes|randomInt|getRandomValues)\b/g],
  ['the environment', /(?<![.\w$])process\s*(\.|\[)|\bimport\.meta\b|(?<![.\w$])globalThis\b/g],
]
const outside: [what: string, pattern: RegExp][] = [
  ['chance', /(?<![.\w$])crypto\s*\./g],
  ['I/O', /(?<![.\w$])(fetch|require)\s*\(|(?<![.\w$])console\s*\./g],
  ['I/O', /\bnew\s+(WebSocket|EventSource|Worker|BroadcastChannel|MessageChannel)\b/g],
]

/** Uses of clock, chance, environment and I/O where only arguments may decide. */
export function purityBreaches(sources: Source[]): Breach[] {
  const breaches: Breach[] = []
  for (const source of sources) {
    const pure = isPure(source.path)
    if (!isCode(source.path) || !(pure || isFeature(source.path))) continue
    const text = blanked(source.text)
    for (const [what, pattern] of pure ? [...handedIn, ...outside] : handedIn) {
      for (const match of text.matchAll(pattern)) {
        const says = `uses ${what}: \`${match[0].trim()}\`; it is handed in (DESIGN §2, STYLE 7)`
        breaches.push({ path: source.path, line: lineAt(text, match.index), says })
      }
    }
    if (pure) breaches.push(...nodeImports(source))
  }
  return breaches
}

function nodeImports(source: Source): Breach[] {
  return importsOf(source)
    .filter(one => one.specifier.startsWith('node:') && one.specifier !== 'node:buffer')
    .map(one => ({
      path: source.path,
      line: one.line,
      says: `imports ${one.specifier}: pure code knows node:buffer only`,
    }))
}
