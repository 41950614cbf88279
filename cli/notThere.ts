import { MillraceError } from '../engine/errors.ts'
import { nearest } from '../engine/flow/nearest.ts'
import type { Topic } from './answers.ts'
import { type ApiClient, apiPath } from './apiClient.ts'
import { cell } from './cells.ts'

/** A topic that was named, and partitions of it such as `0-3,7`; null: all. */
export type NamedTopic = { topic: string; ranges: string | null }

/**
 * What of it the flow does not have now, one sentence each: it may be meant for what is to come, or be mistyped. None
 * where nobody can tell; whatever was asked for stands.
 */
export async function notThere(api: ApiClient, flow: string, named: readonly NamedTopic[]): Promise<string[]> {
  const topics = named.length === 0 ? [] : await topicsOf(api, flow)
  const there = topics.filter(one => one.report !== null || one.overlay !== null)
  // While nobody leads nothing is reported of any.
  if (!topics.some(one => one.report !== null)) return []
  return named.flatMap(({ topic, ranges }) => {
    const found = there.find(one => one.topic === topic)
    if (found === undefined) {
      const near = nearest(
        topic,
        there.map(one => one.topic),
      )
      return [`flow ${flow} has no topic ${topic} now${near === null ? '' : ` (did you mean ${cell(near)}?)`}`]
    }
    const last = found.report ? found.report.partitions - 1 : null
    const most = Math.max(...(ranges?.split(/[,-]/).map(Number) ?? [0]))
    return last === null || most <= last ? [] : [`${topic} has partitions 0 to ${last} now`]
  })
}

async function topicsOf(api: ApiClient, flow: string): Promise<readonly Topic[]> {
  try {
    const told = await api.tell({ method: 'GET', path: apiPath('flows', flow, 'topics') })
    return told.ok ? (told.answer.json as { topics: readonly Topic[] }).topics : []
  } catch (error) {
    if (error instanceof MillraceError) return []
    throw error
  }
}
