import type { Buffer } from 'node:buffer'
import { Writer } from '../../../engine/adapters/kafka/wire.ts'
import type { Request } from './broker.ts'
import type { FakeState } from './state.ts'
import { configFault } from './topicConfigs.ts'

const topicResource = 2
const opUnset = 1

/** IncrementalAlterConfigs: a topic gets all of its changes or none. */
export function answerAlterConfigs(state: FakeState, request: Request): Buffer[] {
  const r = request.body
  const asked =
    r.array(() => {
      r.i8()
      const topic = r.str() ?? ''
      const changes =
        r.array(() => {
          const change = { name: r.str() ?? '', unset: r.i8() === opUnset, value: r.str() ?? '' }
          r.tags()
          return change
        }) ?? []
      r.tags()
      return { topic, changes }
    }) ?? []
  const w = new Writer().i32(0)
  w.array(asked, ({ topic, changes }) => {
    state.adminWrites++
    const refused = refusalOf(state, topic, changes)
    if (refused.code === 0) for (const change of changes) alter(state.topics.get(topic)?.configs, change)
    w.i16(refused.code).str(refused.message).i8(topicResource).str(topic).tags()
  })
  return w.tags().done()
}

function refusalOf(state: FakeState, topic: string, changes: { name: string }[]) {
  const denied = state.denied.get('alterTopicConfigs') ?? 0
  if (denied !== 0) return { code: denied, message: `the broker says ${denied}` }
  if (!state.topics.has(topic)) return { code: 3, message: `The topic '${topic}' does not exist.` }
  const message = changes.map(change => configFault(change.name)).find(fault => fault !== null) ?? null
  return { code: message === null ? 0 : 40, message }
}

function alter(
  configs: Map<string, string> | undefined,
  change: { name: string; unset: boolean; value: string },
): void {
  if (change.unset) configs?.delete(change.name)
  else configs?.set(change.name, change.value)
}
