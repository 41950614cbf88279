import { z } from 'zod'
import { readStoreUri, type StorePlace } from '../flow/storeUri.ts'
import { tagsMissing } from '../flow/tagsMissing.ts'
import { addressHint, addressOf, type HostPort } from './configAddress.ts'
import { type ApiSettings, apiOf, apiWords } from './configApi.ts'
import { type Around, checked, define, faultAt, isMapping } from './configChecked.ts'
import { type CoordinationSettings, coordinationOf, coordinationWords } from './configCoordination.ts'
import { type ConfigFault, type ConfigPath, inOrder } from './configFault.ts'
import { type FlowSettings, readFlow, type Schemas } from './configFlow.ts'
import { notYet } from './configIssues.ts'
import { type SecuritySettings, securityFaults, securityOf, securityWords } from './configSecurity.ts'
import { storeWords } from './configStore.ts'
import { type WorkerSettings, workerWords } from './configWorker.ts'
import { type ConfigText, readYaml } from './configYaml.ts'

/** One entry of `clusters:`. `addresses`: advertised `host:port` → where it can be reached (KAFKA-CLIENT W-20). */
export type ClusterSettings = {
  brokers: HostPort[]
  clientId: string
  addresses: ReadonlyMap<string, HostPort>
  security: SecuritySettings
}
/** What is absent is null; a worker without a word of its own has the defaults. */
export type Config = {
  clusters: ReadonlyMap<string, ClusterSettings>
  flows: ReadonlyMap<string, FlowSettings>
  coordination: CoordinationSettings | null
  worker: WorkerSettings
  api: ApiSettings | null
  store: StorePlace | null
}
/** All faults of the text in its order, or what it says; `warnings` change nothing. */
export type ReadConfig = { ok: true; config: Config; warnings: ConfigFault[] } | { ok: false; faults: ConfigFault[] }

/** What flows may not do together: each is told at the later one. */
export type ClashesOf = (flows: ReadonlyMap<string, FlowSettings>) => { flow: string; other: string; topic: string }[]

/** How it is to be run: where one process runs it, some words mean nothing. */
export type Reading = { clashes?: ClashesOf; processes?: 'one' | 'several' }

/** A configuration as data of the file's own shape, with defaults: what `explain` shows. */
export type PlainConfig = { clusters: Record<string, unknown>; flows: Record<string, unknown> } & Record<
  string,
  unknown
>
type Plain = { plain: PlainConfig; config: Config; faults: ConfigFault[]; text: ConfigText }

/** DESIGN §7. Pure; throws nothing, whatever the text. */
export function readConfig(text: string, schemas: Schemas, reading: Reading = {}): ReadConfig {
  const read = readPlain(text, schemas)
  const faults = [...read.faults, ...clashFaults(read, reading.clashes)]
  if (faults.length > 0) return { ok: false, faults }
  return { ok: true, config: read.config, warnings: inOrder(warningsOf(read, reading.processes ?? 'one')) }
}

/** With faults, `plain` and `config` hold what is without. */
export function readPlain(source: string, schemas: Schemas): Plain {
  const text = readYaml(source)
  const clusters = new Map<string, ClusterSettings>()
  const flows = new Map<string, FlowSettings>()
  const faults = [...text.faults]
  const plain: PlainConfig = { clusters: {}, flows: {} }
  const config: Config = { clusters, flows, coordination: null, worker: workerWords.parse({}), api: null, store: null }
  const read = { plain, config, faults, text }
  if (text.broken) return { ...read, faults: inOrder(faults) }
  checked(fileWords, text.value, { at: [], text, faults })
  if (!isMapping(text.value)) return { ...read, faults: inOrder(faults) }
  readBlocks(text.value, read)
  const names = isMapping(text.value['clusters']) ? Object.keys(text.value['clusters']) : null
  for (const [name, value] of entriesOf(text.value['clusters'])) {
    const found = readEntry(clusterWords, value, { at: ['clusters', name], text, faults })
    if (name === '') faults.push(faultAt(text, ['clusters', name], 'key', "''", 'the name of a cluster'))
    if (!found) continue
    define(plain.clusters, name, found)
    clusters.set(name, settingsOf(found))
  }
  for (const [name, value] of entriesOf(text.value['flows'])) {
    const found = readFlow(name, value, { text, faults, schemas, clusters: names })
    if (!found) continue
    define(plain.flows, name, found.plain)
    flows.set(name, found.flow)
  }
  return { ...read, faults: inOrder(faults) }
}

/** What is not of one flow or one cluster. */
function readBlocks(file: Record<string, unknown>, { plain, config, faults, text }: Plain): void {
  const block = <T>(key: string, schema: z.ZodType<T>): T | null => {
    if (file[key] === undefined) return null
    const found = checked(schema, file[key], { at: [key], text, faults })
    if (found !== null) plain[key] = found
    return found
  }
  const coordination = block('coordination', coordinationWords)
  if (coordination) config.coordination = coordinationOf(coordination)
  plain['worker'] = config.worker
  config.worker = block('worker', workerWords) ?? config.worker
  const api = block('api', apiWords)
  if (api) config.api = apiOf(api)
  const store = block('store', storeWords)
  if (store !== null) config.store = readStoreUri(store)
}

function warningsOf({ config, text }: Plain, processes: 'one' | 'several'): ConfigFault[] {
  const warnings: ConfigFault[] = []
  if (config.coordination !== null && processes === 'one')
    warnings.push(warningAt(text, 'coordination', 'unused: one process needs no coordination'))
  if (config.flows.size === 0) warnings.push(warningAt(text, 'flows', 'there is no flow to run'))
  for (const [name, flow] of processes === 'one' ? config.flows : []) {
    const missing = tagsMissing(flow, config.worker.tags)
    if (missing.length === 0) continue
    const hint = `one process has the tags of worker.tags alone, without ${missing.join(', ')}: it leaves this flow out`
    warnings.push({ ...faultAt(text, ['flows', name, 'requires'], 'key', 'requires', 'tags of the worker'), hint })
  }
  return warnings
}

function clashFaults({ config, text, faults }: Plain, clashes?: ClashesOf): ConfigFault[] {
  // Of a file with faults not all flows are known.
  if (!clashes || faults.length > 0) return []
  return clashes(config.flows).map(({ flow, other, topic }) => ({
    ...faultAt(
      text,
      ['flows', flow, 'topics'],
      'key',
      `${topic}, which flow ${other} copies to the same name`,
      'each topic in one flow',
    ),
    hint: 'each record would be there twice: leave it out of one of the two, or give one a naming',
  }))
}

const later = z.never({ error: notYet }).optional()
const mapping = z.record(z.string(), z.unknown())
const fileWords = z
  .strictObject({
    clusters: mapping.describe('a mapping of clusters'),
    flows: mapping.describe('a mapping of flows').default({}),
    coordination: z.unknown().optional(),
    worker: z.unknown().optional(),
    api: z.unknown().optional(),
    store: z.unknown().optional(),
    kerberos: later,
    secrets: later,
    credentials: later,
    fleet: later,
    logs: later,
    functions: later,
    jobs: later,
  })
  .describe('a mapping with clusters and flows')

const address = z
  .string()
  .check(payload => {
    if (addressOf(payload.value) !== null) return
    const hint = addressHint(payload.value) ?? 'as in: "east1:9092"'
    payload.issues.push({ code: 'custom', input: payload.value, params: { hint }, message: 'expected HOST:PORT' })
  })
  .describe('HOST:PORT')
const clusterWords = z
  .strictObject({
    brokers: z.array(address).min(1).describe('a list of HOST:PORT'),
    clientId: z.string().min(1).default('millrace'),
    addresses: z.record(address, address).describe('a mapping of HOST:PORT to HOST:PORT').default({}),
    security: securityWords.optional(),
  })
  .describe('a mapping with brokers')
/** A file of its own may leave the brokers to a flag. */
const entryWords = clusterWords.extend({ brokers: clusterWords.shape.brokers.optional() })

/** A file with the keys of one entry of `clusters:` (MIRROR §3.5); `brokers` empty: it has none. Throws nothing. */
export function readCluster(
  source: string,
): { ok: true; settings: ClusterSettings; text: ConfigText } | { ok: false; faults: ConfigFault[] } {
  const text = readYaml(source)
  const faults = [...text.faults]
  const found = text.broken ? null : readEntry(entryWords, text.value, { at: [], text, faults })
  if (!found || faults.length > 0) return { ok: false, faults: inOrder(faults) }
  return { ok: true, settings: settingsOf({ ...found, brokers: found.brokers ?? [] }), text }
}

/** Null when the value has faults, which are said. */
function readEntry<T>(
  schema: z.ZodType<T>,
  value: unknown,
  around: Around & { text: ConfigText; at: ConfigPath },
): T | null {
  const { at, text, faults } = around
  const found = checked(schema, value, around)
  const { brokers, security } = isMapping(value) ? value : {}
  const odd = securityFaults(security, { brokers, at: [...at, 'security'], text })
  faults.push(...odd)
  return odd.length > 0 ? null : found
}

function settingsOf({ brokers, clientId, addresses, security }: z.output<typeof clusterWords>): ClusterSettings {
  const known = (text: string) => addressOf(text) ?? { host: '', port: 0 }
  const advertised = Object.entries(addresses).map(([from, to]) => {
    const { host, port } = known(from)
    return [`${host}:${port}`, known(to)] as const
  })
  return { brokers: brokers.map(known), clientId, addresses: new Map(advertised), security: securityOf(security) }
}

function warningAt(text: ConfigText, key: string, hint: string): ConfigFault {
  return {
    ...faultAt(text, [key], 'key', text.has([key]) ? key : 'nothing', key === 'flows' ? 'a flow' : 'nothing'),
    hint,
  }
}

function entriesOf(value: unknown): [string, unknown][] {
  return isMapping(value) ? Object.entries(value) : []
}
