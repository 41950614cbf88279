import { type Metric, Registry } from 'prom-client'
import type { Distribution, Measure } from '../ports/metrics.ts'

type Value = { value: number; labels: Record<string, string | number>; metricName?: string }

/** Prometheus text of all measures; gives its content type and the text of now. */
export function metricsText(measures: readonly Measure[]): () => Promise<{ type: string; text: string }> {
  const registry = new Registry()
  for (const measure of measures) {
    const { name, help, kind } = measure
    const values = () =>
      measure.kind === 'histogram' ? [...measure.read()].flatMap(of => distributed(name, of)) : [...measure.read()]
    // prom-client's own metrics are written to; ours are read, so it gets what its registry asks a metric for.
    const metric = {
      name,
      help,
      type: kind,
      aggregator: 'sum',
      get: async () => ({ name, help, type: kind, values: values(), aggregator: 'sum' }),
    }
    registry.registerMetric(metric as unknown as Metric)
  }
  return async () => ({ type: registry.contentType, text: await registry.metrics() })
}

function distributed(name: string, of: Distribution): Value[] {
  const { labels } = of
  const buckets = of.bounds.map((le, i) => ({
    value: of.counts[i] ?? 0,
    labels: { ...labels, le },
    metricName: `${name}_bucket`,
  }))
  return [
    ...buckets,
    { value: of.count, labels: { ...labels, le: '+Inf' }, metricName: `${name}_bucket` },
    { value: of.sum, labels, metricName: `${name}_sum` },
    { value: of.count, labels, metricName: `${name}_count` },
  ]
}
