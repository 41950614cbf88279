import type { Fault } from '../engine/errors.ts'
import { shownBytes, shownSeconds } from '../engine/mirror/decide/progressLine.ts'
import type { Flow, Partition } from './answers.ts'
import { cell, counted, offsetCell, pageOf, shownMs } from './cells.ts'

type Row = [label: string, text: string]

/** All that is known of one partition (DESIGN §11): what it does, where it stands, who has it, and what may be done. */
export function partitionPage(of: Partition, flow: Flow | null): string {
  return pageOf([
    ...standing(of),
    ...offsets(of),
    ...(of.why ? owners(of, of.why) : []),
    ...(flow ? byPeople(of, flow) : []),
    ...(flow ? next(of).map((text): Row => ['next', text]) : []),
  ])
}

function standing(of: Partition): Row[] {
  const { destination, error, since, reason, bytesPerSecond } = of
  const rows: Row[] = [
    ['partition', nameOf(of)],
    ['destination', destination === null ? '-' : `${cell(destination.topic)}/${destination.partition}`],
    ['state', cell(reason === null || reason === error?.code ? of.state : `${of.state}: ${reason}`)],
  ]
  if (error) {
    const where = error.offset === null ? '' : ` at offset ${error.offset}`
    rows.push(['error', cell(`${error.code}${where}${error.message === error.code ? '' : `: ${error.message}`}`)])
    if (error.hint) rows.push(['', cell(error.hint)])
  }
  if (since !== null) rows.push(['since', cell(since)])
  rows.push(['rate', bytesPerSecond === null ? 'not known' : `${shownBytes(bytesPerSecond)}/s`])
  return rows
}

function offsets(of: Partition): Row[] {
  const seconds = of.lagSeconds === null ? '' : ` (${shownSeconds(of.lagSeconds)})`
  const ends = `stable ${offsetCell(of.lastStable)}, end ${offsetCell(of.highWatermark)}`
  return [
    ['checkpoint', of.checkpoint === null ? 'none is known' : offsetCell(of.checkpoint)],
    ['source log', `start ${offsetCell(of.logStart)}, ${ends}`],
    ['lag', of.lagRecords === null ? 'not known' : `${counted(of.lagRecords)} records${seconds}`],
  ]
}

function owners(of: Partition, why: NonNullable<Partition['why']>): Row[] {
  const { inTransit, lease, unplaced, intent, wish, weight, nextTryMs } = why
  const rows: Row[] = [['worker', cell(why.owner ?? of.worker)]]
  if (lease) {
    const { wanted, applied } = lease
    const at = (one: typeof wanted) => (one === null ? '-' : `${one.epoch}/${one.generation}`)
    rows.push(
      ['lease', `${cell(lease.state)}, last beat ${shownMs(lease.beatAgeMs)} ago, held for ${shownMs(lease.leaseMs)}`],
      ['generation', `${at(wanted)} wanted, ${at(applied)} applied`],
    )
  }
  if (inTransit) rows.push(['in transit', `from ${cell(inTransit.from)}, since ${shownMs(inTransit.ms)}`])
  if (intent !== null) rows.push(['meant for', cell(intent)])
  if (wish !== null) rows.push(['wished to', cell(wish)])
  if (unplaced !== null) rows.push(['unplaced', cell(unplaced)])
  if (weight !== null) rows.push(['weight', counted(Math.round(weight))])
  rows.push(...faultRows('flow', why.flowFault), ...faultRows('brokers', why.brokers))
  if (nextTryMs !== null) rows.push(['next try', `in ${shownMs(nextTryMs)}`])
  return rows
}

function faultRows(label: string, fault: Fault | null): Row[] {
  if (fault === null) return []
  const rows: Row[] = [[label, cell(`${fault.code}: ${fault.message}`)]]
  return fault.hint === null ? rows : [...rows, ['', cell(fault.hint)]]
}

function byPeople({ topic, partition }: Partition, { overlay, aside }: Flow): Row[] {
  const rows: Row[] = []
  const own = <T>(of: Record<string, T> | undefined, name: string) =>
    of && Object.hasOwn(of, name) ? of[name] : undefined
  const hand = own(overlay.topics, topic)
  if (hand !== undefined) rows.push(['topic', `put ${hand} by hand`])
  const paused = own(overlay.paused, '*') ?? own(overlay.paused, topic)
  if (paused !== undefined) {
    const all = Object.hasOwn(overlay.paused, '*') ? 'all of the flow' : 'all of the topic'
    rows.push(['paused', paused === '*' ? all : `${topic}/${paused}`])
  }
  const skip = own(own(overlay.skips, topic), String(partition))
  if (skip !== undefined) rows.push(['to skip', `${counted(skip[1])} from offset ${skip[0]}`])
  for (const { action, fault } of aside) {
    rows.push(['set aside', cell(`${action}: ${fault.code}: ${fault.message}`)])
  }
  return rows
}

/** What may be done about it, as it is typed. */
function next(of: Partition): string[] {
  const { flow, error, why } = of
  const name = nameOf(of)
  if (of.state === 'paused') return [`millrace resume ${flow} lets it run`]
  if (of.state === 'error') {
    const offset = error?.offset
    const skip = offset == null ? [] : [`millrace skip ${name} --offset ${offset} --records 1 passes over it`]
    return [`millrace resume ${flow} tries again at once`, ...skip]
  }
  if (why?.unplaced != null) return ['millrace workers -o wide shows which there are, with their tags']
  return []
}

function nameOf({ flow, topic, partition }: Partition): string {
  return `${cell(flow)}/${cell(topic)}/${partition}`
}
