import { apiPath } from './apiClient.ts'
import type { Given } from './noun.ts'
import type { Said } from './said.ts'

/** `millrace state`: the export of C-104, to be put aside and given back by `apply --create-only`. */
export async function state({ api }: Given): Promise<Said> {
  const answer = await api.ask({ method: 'GET', path: apiPath('state') })
  const { flows } = answer.json as { flows: Record<string, unknown> }
  return { json: answer.text, names: Object.keys(flows), text: () => `${answer.text}\n` }
}
