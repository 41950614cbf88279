import { startApi } from '../api/api.ts'
import type { ApiParts, PreviewAsked } from '../api/parts.ts'
import type { OffsetRow } from '../flow/contract.ts'
import type { FlowEvent } from '../flow/event.ts'
import type { Overlay } from '../flow/overlay.ts'
import type { KafkaCluster } from '../ports/kafka.ts'
import type { ApiSettings } from '../process/configApi.ts'
import type { Logger } from '../process/logger.ts'
import { openApiTokens } from './apiTokens.ts'
import { kindEntries, specFaults } from './kinds.ts'
import type { Machine } from './machine.ts'
import type { RunningProcess } from './startProcess.ts'
import { version } from './version.ts'

/** What the API of a process that runs flows, or leads those that do, is made of (DESIGN §8). */
export type FlowsApi = Pick<
  ApiParts,
  'mode' | 'coordinator' | 'leader' | 'known' | 'nudge' | 'ready' | 'metrics' | 'keepsChanges' | 'events'
> & {
  /** Of the file; null: it has none. */
  settings: ApiSettings | null
  /** The configuration that names the secrets. */
  file: string
  /** In a stage it listens where others reach it. */
  stage: string | null
  /** Of the configuration of now. */
  clusters(): readonly string[]
  kafka(cluster: string): KafkaCluster
  machine: Machine
  tell(flow: string | null, event: FlowEvent): void
} & Pick<RunningProcess, 'clock' | 'redactor' | 'log'>

const local = { host: '127.0.0.1', port: 8080 }

/** Rejects with `config-invalid` where it may not listen, or with what its tokens are refused for. */
export async function startFlowsApi(how: FlowsApi): Promise<{ url: string; close(): Promise<void> }> {
  const { settings, file, clock, redactor, log } = how
  const tell = (event: FlowEvent) => how.tell(null, event)
  const tokens = settings?.tokens ? await openApiTokens(settings.tokens, file, { clock, redactor, tell }) : null
  const parts: ApiParts = {
    ...how,
    listen: settings?.listen ?? (how.stage === null ? local : { ...local, host: '0.0.0.0' }),
    version,
    kinds: kindEntries,
    specFaults: (kind, spec) => specFaults(kind, spec, how.clusters()),
    preview: (of, signal) => previewOf(of, signal, how),
    readOffsets: (flow, of, signal) => offsetsOf(flow, of, signal, how),
    fetch,
    chance: how.machine.chance,
    auth: tokens,
    audit: line => log.info(`${line.verb} ${line.path}: ${line.status}`, line),
  }
  const api = await listening(parts, settings, log)
  return {
    url: api.url,
    async close() {
      tokens?.close()
      await api.close()
    },
  }
}

/** A second process on one machine takes a free port where nobody has said which (DESIGN §8). */
async function listening(parts: ApiParts, settings: ApiSettings | null, log: Logger) {
  try {
    return await startApi(parts)
  } catch (error) {
    const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined
    if (settings !== null || cause?.code !== 'EADDRINUSE') throw error
    log.info(`${parts.listen.host}:${parts.listen.port} is in use: the API takes a free port`)
    return await startApi({ ...parts, listen: { ...parts.listen, port: 0 } })
  }
}

async function offsetsOf(
  flow: string,
  { kind, spec, overlay }: { kind: string; spec: unknown; overlay: Overlay },
  signal: AbortSignal,
  { kafka, clock }: Pick<FlowsApi, 'kafka' | 'clock'>,
): Promise<readonly OffsetRow[]> {
  const entry = Object.hasOwn(kindEntries, kind) ? kindEntries[kind] : undefined
  return (await entry?.kind.offsets?.(spec, overlay, { flow, kafka, clock, signal })) ?? []
}

/** A look of its own, so that it can be asked anywhere, and of a flow that is not there yet. */
async function previewOf(
  { flow, kind, spec, overlay }: PreviewAsked,
  signal: AbortSignal,
  { kafka, clock, machine }: Pick<FlowsApi, 'kafka' | 'clock' | 'machine'>,
): ReturnType<ApiParts['preview']> {
  const { codec, crc, chance } = machine
  const entry = Object.hasOwn(kindEntries, kind) ? kindEntries[kind] : undefined
  if (!entry?.kind.preview) return { topics: [], units: 0, warnings: [] }
  const ctx = { flow, kafka, clock, chance, codec, crc, epoch: 1, signal, untilEnd: false }
  const look = await entry.kind.look(spec, { ...ctx, mayWrite: () => false, tell() {}, overlay }, null)
  const around = { flow, epoch: 1, nowMs: clock.nowMs(), wallMs: clock.wallMs(), overlay }
  return entry.kind.preview(spec, { ...(look as object), ...around, owned: new Set(), aside: new Map() })
}
