import { type FaultCode, faultCodes, MillraceError } from '../engine/errors.ts'

export type ProblemFault = { path: string; found: string; expected: string; hint: string | null }
/** What the API refuses with (RFC 9457). */
export type Problem = {
  status: number
  code: string
  detail: string
  hint: string | null
  errors: readonly ProblemFault[]
}

/** Null: it is none. */
export function problemIn(json: unknown): Problem | null {
  if (typeof json !== 'object' || json === null) return null
  const { status, code, title, detail, hint, errors } = json as Record<string, unknown>
  if (typeof status !== 'number' || typeof code !== 'string') return null
  return {
    status,
    code,
    detail: typeof detail === 'string' ? detail : String(title ?? 'refused'),
    hint: typeof hint === 'string' ? hint : null,
    errors: Array.isArray(errors) ? (errors as ProblemFault[]) : [],
  }
}

/** As other commands say what they refuse; each thing that is wrong on a line. */
export function refusalOf(problem: Problem, nameOf: (path: string) => string = path => path): MillraceError {
  const lines = problem.errors.map(({ path, found, expected, hint }) => {
    const where = nameOf(path)
    return `\n  ${where === '' ? '' : `${where}: `}found ${found}, expected ${expected}${hint === null ? '' : ` (${hint})`}`
  })
  const isKnown = (faultCodes as readonly string[]).includes(problem.code)
  const message = `${isKnown ? '' : `${problem.code}: `}${problem.detail}${lines.join('')}`
  return new MillraceError(isKnown ? (problem.code as FaultCode) : 'internal', message, { hint: hintOf(problem) })
}

function hintOf({ code, hint }: Problem): string | null {
  if (code === 'unauthenticated') return 'put the token into MILLRACE_TOKEN, or name a file with it: --token-file FILE'
  // What a program has to send, a person has to type.
  return hint?.replace('?wait=10', '--wait 10') ?? null
}
