import type { View } from '../../flow/contract.ts'
import type { FlowEvent } from '../../flow/event.ts'
import { nearest } from '../../flow/nearest.ts'
import { noTopic } from '../../flow/noTopic.ts'
import type { MirrorLook } from '../look.ts'
import type { MirrorSpec } from '../spec.ts'
import { rulesWith } from './selected.ts'

/**
 * What the rules speak of and the source has not (M-10, M-13): each topic that is named or put in, and patterns of which no
 * topic is selected. It may be to come, so it is `waiting`; but a flow that copies nothing must not look like one
 * that has nothing to do.
 */
export function notThere(spec: MirrorSpec, view: View<MirrorLook>): FlowEvent[] {
  const { names, include } = rulesWith(spec.topics, view.overlay.topics)
  const state = 'waiting'
  const there = view.source.topics.map(({ topic }) => topic)
  const known = new Set([...there, ...view.topics.keys()])
  const events: FlowEvent[] = []
  for (const topic of new Set(names)) {
    if (known.has(topic)) continue
    const near = nearest(topic, there)
    const hint = `it is copied as soon as it is there${near === null ? '' : `; near it: ${near}`}`
    events.push({ code: 'source-missing', message: `${topic}: the source has no such topic`, hint, topic, state })
  }
  if (include.length > 0 && view.topics.size === 0) {
    const { code, message, hint } = noTopic(include, view.source.topics)
    events.push({ code, message, hint, state })
  }
  return events
}
