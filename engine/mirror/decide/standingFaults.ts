import type { FlowEvent } from '../../flow/event.ts'
import type { PartitionPlan, TopicPlan } from './planTopics.ts'

/**
 * What keeps partitions from being copied until somebody decides or makes something: one event for each topic and
 * cause, with the message of the first of its partitions. What could not be done and is tried again is told by who
 * tried it; what is on its way is not told.
 */
export function standingFaults(plans: readonly TopicPlan[]): FlowEvent[] {
  return plans.flatMap(({ topic, partitions }) => {
    const decided = partitions.filter(isDecided)
    return [...Map.groupBy(decided, plan => `${plan.is} ${plan.why.code}`).values()].flatMap(alike => {
      const [first] = alike
      if (first === undefined) return []
      const { code, message, hint } = first.why
      return [{ code, message, hint, topic, state: first.is, partitions: alike.length }]
    })
  })
}

type Decided = PartitionPlan & { is: 'waiting' | 'error' | 'refused'; why: NonNullable<PartitionPlan['why']> }

function isDecided(plan: PartitionPlan): plan is Decided {
  if (plan.why === null) return false
  if (plan.is === 'error' || plan.is === 'refused') return true
  return plan.is === 'waiting' && plan.why.code === 'destination-missing' && plan.why.hint !== null
}
