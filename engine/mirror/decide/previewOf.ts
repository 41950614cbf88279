import type { Fault } from '../../errors.ts'
import type { View } from '../../flow/contract.ts'
import { type SelectRule, selection } from '../../flow/select.ts'
import type { MirrorLook } from '../look.ts'
import type { MirrorSpec } from '../spec.ts'
import { planTopics } from './planTopics.ts'

/** What a spec makes of one topic of the source (M-13). */
export type TopicPreview = {
  topic: string
  selected: boolean
  rule: SelectRule
  /** Null: it is not selected. */
  destination: string | null
  partitions: number
  /** Partitions at the destination now; null = it has no such topic. */
  there: number | null
  fault: Fault | null
}

/** Every topic of the source, in order of names. */
export function previewOf(spec: MirrorSpec, view: View<MirrorLook>): TopicPreview[] {
  const selected = selection(spec.topics)
  const plans = new Map(planTopics(spec, view).map(plan => [plan.topic, plan]))
  return view.source.topics
    .map(({ topic, internal, partitions }) => {
      const plan = plans.get(topic)
      return {
        topic,
        ...selected(topic, internal),
        destination: plan?.destination ?? null,
        partitions: partitions.length,
        there: plan?.target?.partitions.length ?? null,
        fault: plan?.refused ?? lostIn(plan?.partitions ?? []),
      }
    })
    .sort((a, b) => (a.topic < b.topic ? -1 : 1))
}

/** What somebody has to decide before it is copied. */
function lostIn(partitions: readonly { is: string; why: Fault | null }[]): Fault | null {
  return partitions.find(partition => partition.is === 'error')?.why ?? null
}
