import { z } from 'zod'
import { nearest } from '../flow/nearest.ts'
import type { Overlay } from '../flow/overlay.ts'
import { addressHint, addressOf, type HostPort } from './configAddress.ts'
import { type ConfigFault, type ConfigPath, inOrder, pathText, shown, withoutLogin } from './configFault.ts'
import { faultsOf, notYet, orList, unknownKey } from './configIssues.ts'
import { overlayOf, overlayWords } from './configOverlay.ts'
import { type SecuritySettings, securityFaults, securityOf, securityWords } from './configSecurity.ts'
import { type ConfigText, readYaml } from './configYaml.ts'

/** One entry of `clusters:`. `addresses`: advertised `host:port` → where it can be reached (KAFKA-CLIENT W-20). */
export type ClusterSettings = {
  brokers: HostPort[]
  clientId: string
  addresses: ReadonlyMap<string, HostPort>
  security: SecuritySettings
}
/** `spec` is what the schema of its kind made of it. */
export type FlowSettings = { kind: string; spec: unknown; overlay: Overlay }
export type Config = { clusters: ReadonlyMap<string, ClusterSettings>; flows: ReadonlyMap<string, FlowSettings> }
/** The schemas of specs by kind. */
export type Kinds = Readonly<Record<string, z.ZodType>>
/** All faults of the text in its order, or what it says; `warnings` change nothing. */
export type ReadConfig = { ok: true; config: Config; warnings: ConfigFault[] } | { ok: false; faults: ConfigFault[] }

/** What flows may not do together: each is told at the later one. */
export type ClashesOf = (flows: ReadonlyMap<string, FlowSettings>) => { flow: string; other: string; topic: string }[]

/** A configuration as data of the file's own shape, with defaults: what `explain` shows. */
export type PlainConfig = { clusters: Record<string, unknown>; flows: Record<string, unknown> }
type Plain = { plain: PlainConfig; config: Config; faults: ConfigFault[]; warnings: ConfigFault[]; text: ConfigText }

/** DESIGN §7. Pure; throws nothing, whatever the text. */
export function readConfig(text: string, kinds: Kinds, clashes?: ClashesOf): ReadConfig {
  const read = readPlain(text, kinds)
  const { config, warnings } = read
  const faults = [...read.faults, ...clashFaults(read, clashes)]
  return faults.length > 0 ? { ok: false, faults } : { ok: true, config, warnings }
}

/** With faults, `plain` and `config` hold what is without. */
export function readPlain(source: string, kinds: Kinds): Plain {
  const text = readYaml(source)
  const plain: PlainConfig = { clusters: {}, flows: {} }
  const clusters = new Map<string, ClusterSettings>()
  const flows = new Map<string, FlowSettings>()
  const faults = [...text.faults]
  const warnings: ConfigFault[] = []
  const read = { plain, config: { clusters, flows }, faults, warnings, text }
  if (text.broken) return { ...read, faults: inOrder(faults) }
  const file = checked(fileWords, text.value, { at: [], text, faults })
  if (isMapping(text.value)) {
    const names = isMapping(text.value['clusters']) ? Object.keys(text.value['clusters']) : null
    for (const [name, value] of entriesOf(text.value['clusters'])) {
      const found = readEntry(clusterWords, value, { at: ['clusters', name], text, faults })
      if (name === '') faults.push(faultAt(text, ['clusters', name], 'key', "''", 'the name of a cluster'))
      if (!found) continue
      define(plain.clusters, name, found)
      clusters.set(name, settingsOf(found))
    }
    for (const [name, value] of entriesOf(text.value['flows'])) {
      const found = readFlow(name, value, { text, faults, kinds, clusters: names })
      if (!found) continue
      define(plain.flows, name, found.plain)
      flows.set(name, found.flow)
    }
  }
  if (file?.coordination !== undefined)
    warnings.push(warningAt(text, 'coordination', 'unused: one process needs no coordination'))
  if (file && Object.keys(file.flows).length === 0) warnings.push(warningAt(text, 'flows', 'there is no flow to run'))
  return { ...read, faults: inOrder(faults), warnings: inOrder(warnings) }
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
    store: later,
    kerberos: later,
    secrets: later,
    credentials: later,
    fleet: later,
    logs: later,
    api: later,
    worker: later,
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
function readEntry<T>(schema: z.ZodType<T>, value: unknown, around: Around & { at: ConfigPath }): T | null {
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

type Around = { text: ConfigText; faults: ConfigFault[] }

/** Null when the value has faults, which are said. */
function checked<T>(
  schema: z.ZodType<T>,
  value: unknown,
  { at, text, faults, otherKeys }: Around & { at: ConfigPath; otherKeys?: readonly string[] },
): T | null {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const others = otherKeys === undefined ? {} : { otherKeys }
  // One by one: a call takes no hundred thousand arguments.
  for (const fault of faultsOf(result.error.issues, { schema, value, at, text, ...others })) faults.push(fault)
  return null
}

/** Kinds and words of the design that this version does not have. */
const kindsLater: readonly string[] = ['job', 'function']
const flowWords = ['kind', 'paused', 'skips']

function readFlow(
  name: string,
  value: unknown,
  around: Around & { kinds: Kinds; clusters: readonly string[] | null },
): { flow: FlowSettings; plain: unknown } | null {
  const { text, faults, kinds } = around
  const at = ['flows', name]
  const before = faults.length
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name)) {
    const expected = 'small letters, digits and dashes, 63 at most, not a dash first'
    faults.push(faultAt(text, at, 'key', shown(name, []), expected))
  }
  if (!isMapping(value)) {
    faults.push(faultAt(text, at, 'value', shown(value, at), 'a mapping with kind'))
    return null
  }
  const { kind, paused, skips, requires, ...spec } = value
  if (requires !== undefined) faults.push({ ...unknownKey('requires', at, [], text), hint: notYet })
  const words = checked(overlayWords, { paused, skips }, { at, text, faults })
  const schema = typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
  if (schema === undefined) faults.push(kindFault(kind, [...at, 'kind'], around))
  faults.push(...clusterFaults(spec, at, around))
  const read = schema && checked(schema, spec, { at, text, faults, otherKeys: flowWords })
  if (faults.length > before || !words || !isMapping(read)) return null
  return {
    flow: { kind: String(kind), spec: read, overlay: overlayOf(words) },
    plain: { kind, ...words, ...read },
  }
}

function kindFault(kind: unknown, path: ConfigPath, { text, kinds }: Around & { kinds: Kinds }): ConfigFault {
  const fault = faultAt(text, path, 'value', shown(kind, path), orList(Object.keys(kinds)))
  if (typeof kind !== 'string') return fault
  const near = nearest(kind, Object.keys(kinds))
  const guess = near === null ? null : `did you mean ${near}?`
  return { ...fault, hint: kindsLater.includes(kind) ? notYet : guess }
}

/** `from` and `to` of a flow name clusters of the file. */
function clusterFaults(
  spec: Record<string, unknown>,
  at: ConfigPath,
  { text, clusters }: Around & { clusters: readonly string[] | null },
): ConfigFault[] {
  if (clusters === null) return []
  return ['from', 'to'].flatMap(key => {
    const name = spec[key]
    if (typeof name !== 'string' || name === '' || clusters.includes(name)) return []
    const near = nearest(name, clusters)
    const hint = near === null ? null : `did you mean ${near}?`
    const expected = clusters.length === 0 ? 'a cluster of clusters:' : orList(clusters)
    return [{ ...faultAt(text, [...at, key], 'value', shown(name, [...at, key]), expected), hint }]
  })
}

function faultAt(
  text: ConfigText,
  path: ConfigPath,
  of: 'key' | 'value',
  found: string,
  expected: string,
): ConfigFault {
  return { path: pathText(path), ...text.placeOf(path, of), found: withoutLogin(found), expected, hint: null }
}

function warningAt(text: ConfigText, key: string, hint: string): ConfigFault {
  return {
    ...faultAt(text, [key], 'key', text.has([key]) ? key : 'nothing', key === 'flows' ? 'a flow' : 'nothing'),
    hint,
  }
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function entriesOf(value: unknown): [string, unknown][] {
  return isMapping(value) ? Object.entries(value) : []
}

/** As an own key, whatever its name. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true })
}
