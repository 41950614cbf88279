import { readFileSync, writeFileSync } from 'node:fs'

/**
 * A script is commands and, indented below each, what it shows: a test and a story at once. Blank lines and lines with
 * `#` are for the reader. With UPDATE_SCRIPTS=1 what is shown is written into the file.
 */
export function runScript(path: string, command: (line: string) => string[]): { found: string; expected: string } {
  const expected = readFileSync(path, 'utf8')
  const lines: string[] = []
  for (const line of expected.split('\n')) {
    if (line.startsWith('  ')) continue
    lines.push(line)
    if (line.trim() !== '' && !line.startsWith('#')) lines.push(...command(line).map(shown => `  ${shown}`))
  }
  const found = lines.join('\n')
  if (process.env['UPDATE_SCRIPTS'] === '1') writeFileSync(path, found)
  return { found, expected: process.env['UPDATE_SCRIPTS'] === '1' ? found : expected }
}
