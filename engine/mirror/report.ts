import { type PartitionState, worst } from '../flow/states.ts'
import { checkpointOf } from '../flow/window.ts'
import type { Part } from '../ports/kafka.ts'
import type { Unit } from './run.ts'
import { stateOf } from './troubles.ts'

export type TopicReport = {
  topic: string
  destination: string
  partitions: number
  records: number
  bytes: number
  /** Null: of no partition known. */
  lagRecords: number | null
  gapRecords: number
  skippedRecords: number
  state: PartitionState
}
export type CopyReport = {
  topics: TopicReport[]
  partitions: number
  /** Partitions in any state but `running`. */
  notRunning: number
  /** Partitions whose lag is not known. */
  partitionsUnknown: number
  lagRecords: number | null
  lagSeconds: number | null
  records: number
  bytes: number
  gapRecords: number
  skippedRecords: number
}

/** What a flow shows of itself (M-96, MIRROR §3.5). `waiting`: selected partitions that cannot be copied yet. */
export function reportOf(
  units: Iterable<Unit>,
  waiting: readonly Part[],
  now: { nowMs: number; wallMs: number },
): CopyReport {
  const topics = new Map<string, TopicReport & { states: PartitionState[] }>()
  const whole = { notRunning: 0, partitionsUnknown: 0, lagSeconds: null as number | null }
  for (const { topic } of waiting) {
    const of = topicOf(topics, topic)
    of.partitions++
    of.states.push('waiting')
    whole.notRunning++
    whole.partitionsUnknown++
  }
  for (const unit of units) {
    const of = topicOf(topics, unit.part.topic)
    const state = stateOf(unit, now.nowMs)
    const lag = lagOf(unit)
    of.partitions++
    of.states.push(state)
    of.records += unit.counts.records
    of.bytes += unit.counts.bytes
    of.gapRecords += unit.counts.gapRecords
    of.skippedRecords += unit.counts.skippedAborted
    if (state !== 'running') whole.notRunning++
    if (lag === null) whole.partitionsUnknown++
    else {
      of.lagRecords = (of.lagRecords ?? 0) + lag
      const seconds = lagSecondsOf(unit, lag, now.wallMs)
      if (seconds !== null) whole.lagSeconds = Math.max(whole.lagSeconds ?? 0, seconds)
    }
  }
  return { ...summed([...topics.values()]), ...whole }
}

function summed(
  topics: (TopicReport & { states: PartitionState[] })[],
): Omit<CopyReport, 'notRunning' | 'partitionsUnknown' | 'lagSeconds'> {
  const sum = (field: 'partitions' | 'records' | 'bytes' | 'gapRecords' | 'skippedRecords') =>
    topics.reduce((all, topic) => all + topic[field], 0)
  const lags = topics.map(topic => topic.lagRecords).filter(lag => lag !== null)
  return {
    topics: topics
      .sort((a, b) => (a.topic < b.topic ? -1 : 1))
      .map(({ states, ...topic }) => ({ ...topic, state: worst(states) })),
    partitions: sum('partitions'),
    lagRecords: lags.length === 0 ? null : lags.reduce((all, lag) => all + lag, 0),
    records: sum('records'),
    bytes: sum('bytes'),
    gapRecords: sum('gapRecords'),
    skippedRecords: sum('skippedRecords'),
  }
}

/** LSO − checkpoint; never negative, for the log may have moved since the last answer. */
function lagOf(unit: Unit): number | null {
  const { lastStable } = unit.counts
  if (lastStable === null) return null
  const lag = Number(lastStable - checkpointOf(unit.window))
  return Math.max(0, lag)
}

function lagSecondsOf(unit: Unit, lag: number, wallMs: number): number | null {
  if (lag === 0) return 0
  const { newestMs } = unit.counts
  return newestMs === null ? null : Math.max(0, Math.round((wallMs - newestMs) / 1000))
}

function topicOf(topics: Map<string, TopicReport & { states: PartitionState[] }>, topic: string) {
  const there = topics.get(topic)
  if (there) return there
  const made = {
    topic,
    destination: topic,
    partitions: 0,
    records: 0,
    bytes: 0,
    lagRecords: null,
    gapRecords: 0,
    skippedRecords: 0,
    state: 'running' as const,
    states: [],
  }
  topics.set(topic, made)
  return made
}
