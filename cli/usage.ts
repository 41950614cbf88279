import { MillraceError } from '../engine/errors.ts'

/** What is wrong with the words of a command, and one that would be right. */
export function usage(text: string, example: string): MillraceError {
  return new MillraceError('config-invalid', text, { hint: `as in: ${example}` })
}
