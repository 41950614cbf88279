import type { Worker } from './answers.ts'
import { type ApiRequest, apiPath } from './apiClient.ts'
import { cell, plural } from './cells.ts'
import type { Given } from './noun.ts'
import { done, type Said, wouldSend } from './said.ts'

type Answer = { unchanged: boolean; blockedCount: number; blocked: readonly string[] }

/** `millrace drain WORKER` (C-61). */
export async function drain(given: Given): Promise<Said> {
  const id = given.args[0] ?? ''
  const request: ApiRequest = { method: 'POST', path: apiPath('workers', id, 'drain') }
  if (given.flags.dryRun) {
    const { units, held } = await workerOf(given, id)
    return wouldSend(request, [id], `${plural(units ?? held, 'unit')} would move`)
  }
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

async function workerOf({ api }: Pick<Given, 'api'>, id: string): Promise<Worker> {
  return (await api.ask({ method: 'GET', path: apiPath('workers', id) })).json as Worker
}

/** `millrace undrain WORKER`. */
export async function undrain({ api, args, flags }: Given): Promise<Said> {
  const id = args[0] ?? ''
  const request: ApiRequest = { method: 'POST', path: apiPath('workers', id, 'undrain') }
  if (flags.dryRun) {
    const now = await workerOf({ api }, id)
    return wouldSend(request, [id], now.drain === null ? 'it is not drained' : 'it would take units again')
  }
  const answer = await api.ask(request)
  const { unchanged } = answer.json as Answer
  const said = unchanged ? 'was not drained' : 'takes units again; what has moved stays where it is'
  return done(answer, `worker ${id} ${said}`, [id])
}
