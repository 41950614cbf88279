import { MillraceError } from '../engine/errors.ts'
import { nearest } from '../engine/flow/nearest.ts'
import { showSafe } from '../engine/process/pretty.ts'
import type { ApiAnswer, ApiRequest } from './apiClient.ts'

export const formats = ['table', 'wide', 'json', 'yaml', 'name'] as const
export type Format = (typeof formats)[number]

/** What a command has to say, in every form that it may be asked for. */
export type Said = {
  /** JSON as the API answered it. */
  json: string
  text(wide: boolean): string
  /** One name a line, for scripts. */
  names: readonly string[]
  /** For stderr, whatever the form. */
  note?: string
  /** 0 unless it is said. */
  code?: number
}

/** Throws `config-invalid`. */
export function formatOf(output: string | undefined): Format {
  if (output === undefined) return 'table'
  const found = formats.find(format => format === output)
  if (found !== undefined) return found
  const near = nearest(output, formats)
  throw new MillraceError('config-invalid', `--output: expected ${formats.join(', ')}, found '${output}'`, {
    hint: near === null ? null : `did you mean ${near}?`,
  })
}

export async function sayAs(format: Format, said: Said): Promise<string> {
  if (format === 'json') return `${said.json.trimEnd()}\n`
  if (format === 'name') return said.names.map(name => `${showSafe(name)}\n`).join('')
  if (format !== 'yaml') return showSafe(said.text(format === 'wide'))
  const { yamlText } = await import('../engine/process/yamlText.ts')
  return yamlText(JSON.parse(said.json)).split('\n').map(showSafe).join('\n')
}

/** One sentence about what was asked for. */
export function done(answer: ApiAnswer, sentence: string, names: readonly string[]): Said {
  return { json: answer.text, text: () => `${sentence}\n`, names }
}

/** `--dry-run` of what the API does without one: what would be sent to it, and what is known of what that would do. */
export function wouldSend({ method, path, body, ifMatch }: ApiRequest, names: readonly string[], more = ''): Said {
  const match = ifMatch === undefined ? '' : `If-Match: ${ifMatch}\n`
  const sent = body === undefined ? '' : `${JSON.stringify(body)}\n`
  return {
    json: JSON.stringify({ dryRun: true, method, path, ifMatch: ifMatch ?? null, body: body ?? null }),
    text: () =>
      `nothing is changed; this would be sent:\n${method} ${path}\n${match}${sent}${more === '' ? '' : `${more}\n`}`,
    names,
  }
}
