import { z } from 'zod'
import type { SecretPlace } from '../ports/secrets.ts'
import { notYet } from './configIssues.ts'

const text = z.string().min(1)

type Words = { file?: string | undefined; env?: string | undefined }

/** Where a secret for local use is (CREDENTIALS K-13): in one place; secret stores are not in this version. */
export const placeWords = z
  .strictObject({
    file: text.describe('the path of a file').optional(),
    env: text.describe('the name of a variable').optional(),
    secret: z.never({ error: notYet }).optional(),
  })
  .check(({ value, issues }) => {
    const say = (path: string[], input: unknown, params: Record<string, string>) =>
      issues.push({ code: 'custom', path, input, params, message: `expected ${params['expected']}` })
    const given = ['file', 'env'].filter(key => Object.hasOwn(value, key))
    const hint = given.length === 0 ? 'it names where the secret is' : 'a secret is in one place'
    if (given.length !== 1) say([], value, { expected: '{file: PATH} or {env: NAME}', hint })
    if (value.env === undefined || /^[A-Za-z_][A-Za-z0-9_]*$/.test(value.env)) return
    // Somebody may have written the secret itself.
    const found = 'a hidden value'
    say(['env'], null, {
      found,
      expected: 'the name of a variable',
      hint: 'the value is in the variable, never in this file',
    })
  })
  .describe('{file: PATH} or {env: NAME}')

export function placeOf(words: Words | undefined): SecretPlace | null {
  if (words?.file !== undefined) return { file: words.file }
  return words?.env === undefined ? null : { env: words.env }
}
