import { type Breach, lineAt, type Source } from './tree.ts'

const codesFile = 'engine/errors.ts'
const rowsFile = 'docs/errors.md'

/** Codes without a row for people, rows without a code, and codes that stand in two rows (DESIGN §9). */
export function errorCodeBreaches(sources: Source[]): Breach[] {
  const textOf = (path: string) => sources.find(source => source.path === path)?.text ?? ''
  const codes = codesIn(textOf(codesFile))
  const rows = [...textOf(rowsFile).matchAll(/^\| `([a-z-]+)` \|/gm)].map(match => ({
    code: match[1] ?? '',
    line: lineAt(textOf(rowsFile), match.index),
  }))
  const named = new Set(rows.map(row => row.code))
  const known = new Set(codes.map(one => one.code))
  return [
    ...codes
      .filter(one => !named.has(one.code))
      .map(one => ({ path: codesFile, line: one.line, says: `${one.code} has no row in ${rowsFile}` })),
    ...rows
      .filter(row => !known.has(row.code))
      .map(row => ({ path: rowsFile, line: row.line, says: `${row.code} is no code of ${codesFile}` })),
    ...rows
      .filter((row, index) => rows.findIndex(other => other.code === row.code) !== index)
      .map(row => ({ path: rowsFile, line: row.line, says: `${row.code} has a row already` })),
  ]
}

function codesIn(text: string): { code: string; line: number }[] {
  const list = /faultCodes = \[([^\]]*)\]/.exec(text)
  if (list === null) return []
  return [...(list[1] ?? '').matchAll(/'([a-z-]+)'/g)].map(match => ({
    code: match[1] ?? '',
    line: lineAt(text, text.indexOf('[', list.index) + 1 + match.index),
  }))
}
