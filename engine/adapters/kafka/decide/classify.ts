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
export type Asked = 'fetch' | 'produce' | 'offsets' | 'other'

const table: Record<number, Verdict> = {
  0: 'ok',
  1: 'out-of-range',
  3: 'missing',
  5: 'leader',
  6: 'leader',
  7: 'again',
  9: 'leader',
  10: 'refused',
  12: 'metadata-too-large',
  13: 'again',
  14: 'coordinator',
  15: 'coordinator',
  16: 'coordinator',
  18: 'refused',
  19: 'again',
  20: 'again',
  21: 'protocol',
  22: 'group-in-use',
  25: 'group-in-use',
  28: 'halve',
  29: 'wait',
  30: 'wait',
  31: 'wait',
  32: 'refused',
  33: 'login',
  34: 'login',
  35: 'protocol',
  42: 'protocol',
  45: 'reset',
  46: 'duplicate',
  47: 'reset',
  48: 'aborted',
  49: 'fenced',
  51: 'again',
  52: 'fenced',
  53: 'wait',
  56: 'leader',
  58: 'login',
  59: 'reset',
  70: 'protocol',
  71: 'protocol',
  72: 'leader',
  74: 'leader',
  75: 'again',
  76: 'refused',
  78: 'again',
  87: 'refused',
  88: 'again',
  89: 'again',
  90: 'fenced',
  100: 'missing',
  103: 'missing',
  106: 'protocol',
  109: 'again',
  120: 'aborted',
}

export function classify(asked: Asked, code: number): Verdict {
  if (code === 2) return asked === 'produce' ? 'refused' : 'again'
  if (code === 27) return asked === 'offsets' ? 'group-in-use' : 'unknown'
  return table[code] ?? 'unknown'
}

/** Our code for a number that keeps a partition from moving (W-76). `end`: which side of a copy it is. */
export function troubleCode(code: number, end: 'source' | 'destination'): string {
  switch (table[code]) {
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
