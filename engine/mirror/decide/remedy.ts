import type { FaultCode } from '../../errors.ts'

type Place = { flow: string; topic: string; partition?: number }

/**
 * How people say where a copy goes on (M-94). `millrace mirror` has no API: there it is Kafka's own tool, and both
 * stand in one sentence, for who reads it knows what runs.
 */
export function goOnElsewhere(place: Place): string {
  const name = nameOf(place)
  const reset = `millrace offsets reset ${name} --to earliest, latest or an offset`
  return `millrace pause ${name} --wait 10, ${reset}, millrace resume ${name}; with millrace mirror, while it is stopped, at the source: ${groupTool(place)} --to-earliest, --to-latest or --to-offset N --execute`
}

/** Where its destination topic is gone: the copy goes on in a new one, from its checkpoint or from the start. */
export function goOnInNew(place: Place): string {
  const name = nameOf(place)
  const reset = `millrace offsets reset ${name} --to earliest`
  return `to copy all again: millrace pause ${name} --wait 10, ${reset}, millrace resume ${name}; to go on where it was, paused or stopped, at the source: ${groupTool(place)} --to-current --execute (--to-earliest does the other with millrace mirror)`
}

/** The hint of a unit's fault, with what people type when they have decided. */
export function remedy(code: FaultCode, hint: string | null, place: Place & { offset: bigint }): string | null {
  if (code === 'destination-recreated') return `decide where it goes on: ${goOnElsewhere(place)}`
  if (!skippable.has(code)) return hint
  const name = nameOf(place)
  const records = code === 'record-too-large' ? '1' : 'N'
  const skip = `millrace skip ${name} --offset ${place.offset} --records ${records} leaves it out`
  return `${hint === null ? '' : `${hint}; `}then: millrace resume ${name}; or ${skip} (in a fleet and in millrace run)`
}

const skippable: ReadonlySet<FaultCode> = new Set(['batch-corrupt', 'batch-refused', 'record-too-large'])

function nameOf({ flow, topic, partition }: Place): string {
  return partition === undefined ? `${flow}/${topic}` : `${flow}/${topic}/${partition}`
}

function groupTool({ flow, topic, partition }: Place): string {
  const of = partition === undefined ? topic : `${topic}:${partition}`
  return `kafka-consumer-groups.sh --group millrace.${flow} --topic ${of} --reset-offsets`
}
