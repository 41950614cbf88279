import { MillraceError } from '../engine/errors.ts'
import type { FlowSummary } from './answers.ts'
import type { ApiAnswer, ApiClient, ApiRequest } from './apiClient.ts'
import { refusalOf } from './apiProblem.ts'
import { cell, instant } from './cells.ts'

/**
 * A change of a flow under the tag with which it was read. Rejects with `stale` that says who was faster, so that
 * people can talk to each other.
 */
export async function asItWasRead(
  api: ApiClient,
  request: ApiRequest,
  what: string,
  nameOf?: (path: string) => string,
): Promise<ApiAnswer> {
  const told = await api.tell(request)
  if (told.ok) return told.answer
  if (told.problem.code !== 'stale') throw refusalOf(told.problem, nameOf)
  throw new MillraceError(
    'stale',
    `${what} ${await whoChanged(api, request.path)} after it was read; nothing is changed`,
    {
      hint: 'look at it, and run the command again if it is still right',
    },
  )
}

async function whoChanged(api: ApiClient, path: string): Promise<string> {
  const told = await api.tell({ method: 'GET', path })
  if (!told.ok) return told.problem.code === 'not-found' ? 'has gone' : 'was changed'
  const { changedBy } = told.answer.json as FlowSummary
  return `was changed by ${cell(changedBy.by)} at ${instant(changedBy.atMs)}`
}
