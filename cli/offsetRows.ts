import { MillraceError } from '../engine/errors.ts'
import { nearest } from '../engine/flow/nearest.ts'
import type { OffsetRow } from './answers.ts'
import { type ApiClient, apiPath } from './apiClient.ts'
import type { Place } from './place.ts'

/** Of a flow or one topic of it. Rejects with `not-found` where the flow has no such topic. */
export async function offsetRows(
  api: ApiClient,
  { flow, topic }: Pick<Place, 'flow' | 'topic'>,
): Promise<{ json: string; rows: readonly OffsetRow[] }> {
  const answer = await api.ask({ method: 'GET', path: apiPath('flows', flow, 'offsets') })
  const found = answer.json as { offsets: readonly OffsetRow[] }
  if (topic === null) return { json: answer.text, rows: found.offsets }
  const rows = found.offsets.filter(row => row.topic === topic)
  if (rows.length > 0) return { json: JSON.stringify({ ...found, offsets: rows }), rows }
  const near = nearest(topic, new Set(found.offsets.map(row => row.topic)))
  throw new MillraceError('not-found', `flow ${flow} has no topic '${topic}'`, {
    hint: near === null ? `millrace topics ${flow} lists them` : `did you mean ${near}?`,
  })
}
