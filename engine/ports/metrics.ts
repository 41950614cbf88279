export type Sample = { labels: Record<string, string>; value: number }
/** A histogram's state: `counts[i]` = observations not above `bounds[i]`, of `count` in all, which sum to `sum`. */
export type Distribution = {
  labels: Record<string, string>
  bounds: readonly number[]
  counts: readonly number[]
  sum: number
  count: number
}

/**
 * One measure. Its values are read when somebody asks for the metrics, so the data path only counts numbers.
 * Names are `millrace_<area>_<what>_<unit>` (DESIGN §9).
 */
export type Measure =
  | { kind: 'counter' | 'gauge'; name: string; help: string; read(): Iterable<Sample> }
  | { kind: 'histogram'; name: string; help: string; read(): Iterable<Distribution> }
