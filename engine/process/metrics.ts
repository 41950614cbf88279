import { Counter, Gauge, Registry } from 'prom-client'

/** One measure: its values are read when somebody asks for the metrics, so the data path only counts numbers. */
export type Measure = {
  name: string
  help: string
  kind: 'counter' | 'gauge'
  labels: readonly string[]
  read(): Iterable<{ labels: Record<string, string>; value: number }>
}

/** Prometheus text of all measures; names are `millrace_<area>_<what>_<unit>` (DESIGN §9). */
export function metricsText(measures: readonly Measure[]): () => Promise<{ type: string; text: string }> {
  const registry = new Registry()
  for (const measure of measures) {
    const common = { name: measure.name, help: measure.help, labelNames: [...measure.labels], registers: [registry] }
    if (measure.kind === 'gauge') {
      new Gauge({
        ...common,
        collect() {
          this.reset()
          for (const { labels, value } of measure.read()) this.set(labels, value)
        },
      })
    } else {
      new Counter({
        ...common,
        collect() {
          this.reset()
          for (const { labels, value } of measure.read()) this.inc(labels, value)
        },
      })
    }
  }
  return async () => ({ type: registry.contentType, text: await registry.metrics() })
}
