import type { AnyKind, FlowWorker } from '../flow/contract.ts'
import { mirrorMeasures } from '../mirror/measures.ts'
import type { MirrorWorker } from '../mirror/worker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Measure } from '../ports/metrics.ts'
import { type Ready, startHttp } from '../process/http.ts'
import { usageMeasures } from '../process/usage.ts'

/** A flow as a process runs it, by its kind. */
type RunningFlow = { flow: string; kind: AnyKind; worker: FlowWorker }

/** `/livez`, `/readyz` and `/metrics` of a process that runs flows: on a free loopback port unless one is given (DESIGN §8). */
export function startHealth(how: {
  host?: string
  port?: number
  ready(): Ready
  flows(): Iterable<RunningFlow>
  measures: readonly Measure[]
  clock: Clock
}): ReturnType<typeof startHttp> {
  return startHttp({
    host: how.host ?? '127.0.0.1',
    port: how.port ?? 0,
    ready: how.ready,
    metrics: metricsOf(how),
  })
}

/** Prometheus text of a process: its flows, `measures` of what it has opened, and what it takes of the machine. */
export function metricsOf(how: {
  flows(): Iterable<RunningFlow>
  measures: readonly Measure[]
  clock: Clock
}): () => Promise<{ type: string; text: string }> {
  let text: (() => Promise<{ type: string; text: string }>) | null = null
  const mirrors = () =>
    [...how.flows()]
      .filter(({ kind }) => kind.kind === 'mirror')
      .map(({ flow, worker }) => ({ flow, worker: worker as MirrorWorker }))
  return async () => {
    // Loaded when somebody asks: most mirrors on one machine are never scraped.
    const { metricsText } = await import('../process/metrics.ts')
    text ??= metricsText([...mirrorMeasures(mirrors, how.clock), ...how.measures, ...usageMeasures])
    return text()
  }
}
