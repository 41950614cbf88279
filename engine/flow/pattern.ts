import { RE2JS, RE2JSSyntaxException } from 're2js'
import { MillraceError } from '../errors.ts'
import { patternCharactersMax } from '../limits.ts'

/** The rule that a pattern belongs to: selection, naming, settings of topics. */
type PatternRule = 'M-10' | 'M-20' | 'M-25'

/**
 * A pattern in the syntax of RE2, ≤ 1000 characters; `path` is where it was written. Throws `config-invalid` with the
 * position of the piece at fault, counted from 1.
 */
export function compile(pattern: string, path: string, rule: PatternRule): RE2JS {
  if (pattern.length > patternCharactersMax) {
    const text = `${path}: a pattern of ${pattern.length} characters, at most ${patternCharactersMax} (${rule})`
    throw new MillraceError('config-invalid', text)
  }
  try {
    return RE2JS.compile(pattern)
  } catch (cause) {
    if (!(cause instanceof RE2JSSyntaxException)) throw cause
    const piece = cause.getPattern()
    const position = positionOf(piece, pattern)
    throw new MillraceError(
      'config-invalid',
      `${path}: '${pattern}' is no RE2 pattern: ${cause.getDescription()} at position ${position + 1} (${rule})`,
      { cause, hint: hintFor(piece) },
    )
  }
}

/**
 * The piece is all that the library tells of the place; a fault at the very end names none, and of a parenthesis that
 * does not close the piece is the whole pattern: then it is the last one that is open.
 */
function positionOf(piece: string | null, pattern: string): number {
  if (piece === null) return pattern.length
  if (piece !== pattern) return Math.max(0, pattern.indexOf(piece))
  const open: number[] = []
  let inClass = false
  for (let at = 0; at < pattern.length; at++) {
    const c = pattern[at]
    if (c === '\\') at++
    else if (inClass) inClass = c !== ']'
    else if (c === '[') inClass = true
    else if (c === '(') open.push(at)
    else if (c === ')') open.pop()
  }
  return open.at(-1) ?? 0
}

function hintFor(piece: string | null): string {
  if (piece !== null && /^\(\?<?[=!]/.test(piece)) return 'lookahead and lookbehind are not in RE2'
  return 'the syntax is that of RE2, and the pattern must match the whole name'
}
