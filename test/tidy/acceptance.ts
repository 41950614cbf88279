import { blanked } from './code.ts'
import { type Breach, lineAt, type Source } from './tree.ts'

/** An acceptance scenario of a design file; `marks` as there: P pure, M memory adapters, R real parts. */
export type Scenario = { number: number; marks: string; tests: Claim[] }
/** `area` is the file's name up to its first dash: KAFKA for KAFKA-CLIENT.md. */
export type Area = { area: string; file: string; scenarios: Scenario[] }
/** A test that says it stands for a scenario: its name begins `KAFKA 7: `. */
export type Claim = { area: string; number: number; name: string; path: string; line: number }

const mark = '\\**\\[([A-Z](?:, [A-Z])*)\\]'

/** The numbered scenarios of a design file's section "Acceptance" or "Scenarios", several of which may share a line. */
export function scenariosIn(text: string): { number: number; marks: string }[] {
  const section = sectionOf(text)
  const found: { number: number; marks: string }[] = []
  let last = 0
  for (const line of section.split('\n')) {
    for (const match of line.matchAll(new RegExp(`(?<=^|\\s)(\\d+)\\.(?= (?:${mark})?)`, 'g'))) {
      const number = Number(match[1])
      // In the middle of a line only the next number with a mark begins a scenario: `log end 300. [R]` does not.
      const begins = match.index === 0 ? number > last : number === last + 1 && match[2] !== undefined
      if (!begins) continue
      last = number
      found.push({ number, marks: match[2] ?? '' })
    }
  }
  return found
}

/** From the heading to the next one of its level or above; empty when the file has no such section. */
function sectionOf(text: string): string {
  const lines = text.split('\n')
  const start = lines.findIndex(line => /^#+ .*\b(Acceptance|Scenarios)\b/.test(line))
  if (start === -1) return ''
  const level = /^#+/.exec(lines[start] ?? '')?.[0].length ?? 1
  const length = lines.slice(start + 1).findIndex(line => (/^#+ /.exec(line)?.[0].length ?? 99) - 1 <= level)
  return lines.slice(start + 1, length === -1 ? undefined : start + 1 + length).join('\n')
}

/** Every test of the tree whose name begins with an area and a number. */
export function claimsIn(sources: Source[]): Claim[] {
  const found: Claim[] = []
  for (const source of sources.filter(source => /^test\/.*\.test\.ts$/.test(source.path))) {
    for (const match of blanked(source.text).matchAll(/(?<![.\w])(?:test|it|describe)(?:\.\w+)?\(/g)) {
      const rest = source.text.slice(match.index + match[0].length)
      const name = /^\s*['"`](([A-Z][A-Z-]*) (\d+): [^\n]*?)['"`]/.exec(rest)
      if (name === null) continue
      const line = lineAt(source.text, match.index)
      found.push({ area: name[2] ?? '', number: Number(name[3]), name: name[1] ?? '', path: source.path, line })
    }
  }
  return found
}

export function areasOf(sources: Source[]): Area[] {
  const claims = claimsIn(sources)
  return sources.flatMap(source => {
    const file = /^docs\/design\/([A-Z]+)[A-Z-]*\.md$/.exec(source.path)
    const area = file?.[1] ?? ''
    const scenarios = file === null ? [] : scenariosIn(source.text)
    const withTests = scenarios.map(one => ({
      ...one,
      tests: claims.filter(claim => claim.area === area && claim.number === one.number),
    }))
    return scenarios.length === 0 ? [] : [{ area, file: source.path, scenarios: withTests }]
  })
}

/** Tests that stand for a scenario which no design file has. */
export function unknownTests(areas: Area[], sources: Source[]): Breach[] {
  const known = new Set(areas.flatMap(one => one.scenarios.map(scenario => `${one.area} ${scenario.number}`)))
  return claimsIn(sources)
    .filter(claim => !known.has(`${claim.area} ${claim.number}`))
    .map(claim => ({
      path: claim.path,
      line: claim.line,
      says: `no scenario ${claim.area} ${claim.number}: ${claim.name}`,
    }))
}

/** What `npm run scenarios` prints. */
export function areaTable(areas: Area[], unknown: Breach[]): string {
  const lines: string[] = []
  for (const { area, file, scenarios } of areas) {
    const tested = scenarios.filter(scenario => scenario.tests.length > 0).length
    lines.push(`${area}  ${tested} of ${scenarios.length}  (${file})`)
    for (const { number, marks, tests } of scenarios) {
      const where = [...new Set(tests.map(test => test.path))].join(' ')
      lines.push(`  ${String(number).padStart(3)}  ${marks.padEnd(5)} ${where === '' ? '-' : where}`)
    }
    lines.push('')
  }
  const all = areas.flatMap(one => one.scenarios)
  lines.push(`${all.filter(one => one.tests.length > 0).length} of ${all.length} scenarios have a test`)
  for (const breach of unknown) lines.push(`${breach.path}:${breach.line}  ${breach.says}`)
  return `${lines.join('\n')}\n`
}
