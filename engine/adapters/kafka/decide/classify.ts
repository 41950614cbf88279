import type { FaultCode } from '../../../errors.ts'

/**
 * What becomes of Kafka's error numbers (KAFKA-CLIENT §5, the only table of them).
 * - `again`: the same request on the `link` curve. `leader`: look for the leader, then again. `coordinator`: likewise.
 * - `wait`: on the `unit` curve; the partition is in trouble with `code` meanwhile.
 * - `missing`: the topic or partition is not there (or has another id, W-45).
 * - `out-of-range`, `refused`, `fenced`, `reset` (W-51, W-52), `duplicate`, `aborted`: answers or outcomes.
 * - `metadata-too-large`, `halve`, `group-in-use`: offset commits only.
 * - `login`: fresh credentials, wait. `protocol`: the link is closed. `unknown`: nothing of ours knows it.
 */
export type Verdict =
  | 'ok'
  | 'again'
  | 'leader'
  | 'coordinator'
  | 'wait'
  | 'missing'
  | 'out-of-range'
  | 'refused'
  | 'fenced'
  | 'reset'
  | 'duplicate'
  | 'aborted'
  | 'metadata-too-large'
  | 'halve'
  | 'group-in-use'
  | 'login'
  | 'protocol'
  | 'unknown'

/** Which request the number came with: a few mean different things. */
export type Asked = 'fetch' | 'produce' | 'offsets' | 'admin' | 'other'

const rows: Record<Verdict, readonly number[]> = {
  ok: [0],
  again: [7, 13, 19, 20, 41, 51, 75, 78, 88, 89, 109, 122, 123, 133],
  leader: [5, 6, 9, 56, 72, 74, 80, 83, 84],
  coordinator: [14, 15, 16],
  wait: [29, 30, 31, 53],
  missing: [3, 100, 103],
  'out-of-range': [1],
  refused: [10, 18, 32, 76, 87],
  fenced: [49, 52, 90],
  reset: [45, 47, 59],
  duplicate: [46],
  aborted: [48, 120],
  'metadata-too-large': [12],
  halve: [28],
  'group-in-use': [22, 25],
  login: [33, 34, 58],
  protocol: [21, 35, 42, 70, 71, 106],
  // Those of requests we do not send, and −1, which says nothing.
  unknown: [-1],
}

const table = new Map(
  Object.entries(rows).flatMap(([verdict, codes]) => codes.map(code => [code, verdict as Verdict] as const)),
)

/** What a topic is refused for, for good: its name, its count of partitions or replicas, a setting, the cluster's policy. */
const refusedTopics = new Set([17, 37, 38, 40, 44])

export function classify(asked: Asked, code: number): Verdict {
  if (code === 2) return asked === 'produce' ? 'refused' : 'again'
  if (code === 27) return asked === 'offsets' ? 'group-in-use' : 'unknown'
  if (refusedTopics.has(code)) return asked === 'admin' ? 'refused' : 'unknown'
  return table.get(code) ?? 'unknown'
}

/** Checked before a batch is appended: it is sure that a Produce answered with one of these has taken nothing. */
const nothingTaken = new Set([3, 19, 29, 31, 53, 100, 103])

export function saysNotTaken(code: number): boolean {
  return nothingTaken.has(code)
}

/** Our code for a number that keeps a partition from moving (W-76). `end`: which side of a copy it is. */
export function troubleCode(code: number, end: 'source' | 'destination'): FaultCode {
  switch (table.get(code)) {
    case 'missing':
      return end === 'source' ? 'source-missing' : 'destination-missing'
    case 'login':
      return 'kafka-login-refused'
    case 'protocol':
      return 'kafka-protocol'
    case 'wait':
      return 'kafka-not-authorized'
    default:
      return 'kafka-unreachable'
  }
}
