import type { ConfigFault } from '../engine/process/configFault.ts'
import { showSafe } from '../engine/process/pretty.ts'

/** `FILE:LINE:COL path: found …, expected …`, as editors and terminals link it; the hint below. */
export function faultLine(file: string, { line, column, path, rule, found, expected, hint }: ConfigFault): string {
  const where = `${file}:${line}:${column} ${path === '' ? 'the file' : path}`
  const what = `found ${found}, expected ${expected}${rule === undefined ? '' : ` (${rule})`}`
  return `${showSafe(`${where}: ${what}`)}\n${hint === null ? '' : `  ${showSafe(hint)}\n`}`
}

/** As `faultLine`, of what changes nothing. */
export function warningLine(file: string, { line, column, path, hint }: ConfigFault): string {
  return `${showSafe(`${file}:${line}:${column} ${path}: warning: ${hint}`)}\n`
}
