import type { Fault } from '../../errors.ts'
import type { FlowPreview, PreviewRow, View } from '../../flow/contract.ts'
import type { MirrorLook } from '../look.ts'
import type { Rights } from '../rights.ts'
import type { MirrorSpec } from '../spec.ts'
import { notThere } from './notThere.ts'
import { planTopics } from './planTopics.ts'
import { selected } from './selected.ts'
import { warningsOf } from './warnings.ts'

export type TopicPreview = PreviewRow

/** With what somebody should know before it runs. */
export function previewWith(spec: MirrorSpec, view: View<MirrorLook & Rights>): FlowPreview {
  const topics = previewOf(spec, view)
  const units = topics.filter(of => of.selected && of.fault === null).reduce((sum, of) => sum + of.partitions, 0)
  const events = [...view.rightsMissing, ...notThere(spec, view)]
  const warnings = events.map(({ code, message, hint = null }) => ({ code, message, hint }))
  return { topics, units, warnings: [...warnings, ...warningsOf(spec)] }
}

/** Every topic of the source, in order of names. */
export function previewOf(spec: MirrorSpec, view: View<MirrorLook>): TopicPreview[] {
  const isTaken = selected(spec.topics, view.overlay.topics)
  const plans = new Map(planTopics(spec, view).map(plan => [plan.topic, plan]))
  return view.source.topics
    .map(({ topic, internal, partitions }) => {
      const plan = plans.get(topic)
      return {
        topic,
        ...isTaken(topic, internal),
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
