import { z } from 'zod'
import { MillraceError } from '../errors.ts'
import { readStoreUri } from '../flow/storeUri.ts'
import { notYet } from './configIssues.ts'

/** `store:` (DESIGN §6, §7). */
export const storeWords = z
  .string()
  .check(({ value, issues }) => {
    const hint = /^s3:/i.test(value) ? notYet : storeHint(value)
    if (hint === null) return
    const params = { expected: 'file:///PATH', hint }
    issues.push({ code: 'custom', input: value, params, message: `expected ${params.expected}` })
  })
  .describe('file:///PATH')

/** What would be right; null: it is. */
function storeHint(text: string): string | null {
  try {
    readStoreUri(text)
    return null
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    return error.hint ?? error.message
  }
}
