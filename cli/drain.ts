import { type ApiRequest, apiPath } from './apiClient.ts'
import { cell, plural } from './cells.ts'
import type { Given } from './noun.ts'
import { done, type Said, wouldSend } from './said.ts'

type Answer = { unchanged: boolean; blockedCount: number; blocked: readonly string[] }

/** `millrace drain WORKER` (C-61). */
export async function drain(given: Given): Promise<Said> {
  const id = given.args[0] ?? ''
  const request: ApiRequest = { method: 'POST', path: apiPath('workers', id, 'drain') }
  if (given.flags.dryRun) return wouldSend(request, [id])
  const answer = await given.api.ask(request)
  const { unchanged, blockedCount, blocked } = answer.json as Answer
  const said = done(answer, `worker ${id} ${unchanged ? 'was drained already' : 'gives its units away'}`, [id])
  if (blockedCount === 0) return said
  const named = blocked.slice(0, 5).map(cell).join(', ')
  const more = blockedCount > 5 ? ', …' : ''
  return {
    ...said,
    note: `${plural(blockedCount, 'unit')} no other worker may take, so it keeps them: ${named}${more}\n`,
  }
}

/** `millrace undrain WORKER`. */
export async function undrain({ api, args, flags }: Given): Promise<Said> {
  const id = args[0] ?? ''
  const request: ApiRequest = { method: 'POST', path: apiPath('workers', id, 'undrain') }
  if (flags.dryRun) return wouldSend(request, [id])
  const answer = await api.ask(request)
  const { unchanged } = answer.json as Answer
  const said = unchanged ? 'was not drained' : 'takes units again; what has moved stays where it is'
  return done(answer, `worker ${id} ${said}`, [id])
}
