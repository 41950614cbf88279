import { type Import, importsOf, isCode } from './imports.ts'
import type { Breach, Source } from './tree.ts'

/**
 * Where a file stands on the stairs of DESIGN §2. `area` tells apart what stands on one stair: the feature, the
 * adapter, the root folder. `decide/` of a feature and of an adapter are one stair: pure.
 */
export type Place = { stair: Stair; area: string }
export type Stair =
  | 'shared'
  | 'batch'
  | 'ports'
  | 'flow'
  | 'decide'
  | 'feature'
  | 'process'
  | 'adapter'
  | 'kinds'
  | 'wiring'
  | Root
type Root = 'root' | 'config' | 'infra' | 'workbench' | 'file'

const features = ['mirror', 'job', 'function', 'fleet', 'credentials', 'logs', 'api']
const kinds = ['mirror', 'job', 'function']

/** Null for a file of `engine/` that has no place: the design names every folder there. */
export function placeOf(path: string): Place | null {
  const [top, folder = '', name = ''] = path.split('/')
  if (top === 'test' || top === 'bench' || top === 'rig') return { stair: 'workbench', area: top }
  if (top === 'infra') return { stair: 'infra', area: top }
  if (top === 'cli' || top === 'tasks' || top === 'functions') {
    return { stair: path.endsWith('/config.ts') ? 'config' : 'root', area: top === 'cli' ? top : `${top}/${folder}` }
  }
  if (top !== 'engine') return { stair: 'file', area: '' }
  if (folder === 'errors.ts' || folder === 'limits.ts') return { stair: 'shared', area: '' }
  if (folder === 'kinds.ts') return { stair: 'kinds', area: '' }
  if (folder === 'adapters') {
    return name.endsWith('.ts')
      ? null
      : { stair: path.includes('/decide/') ? 'decide' : 'adapter', area: `adapters/${name}` }
  }
  if (folder === 'batch' || folder === 'ports' || folder === 'flow') return { stair: folder, area: folder }
  if (path.endsWith('/config.ts') && features.includes(folder)) return { stair: 'config', area: folder }
  if (folder === 'wiring') return { stair: 'wiring', area: folder }
  if (folder === 'process') return { stair: name === 'decide' ? 'decide' : 'process', area: folder }
  if (!features.includes(folder)) return null
  return { stair: name === 'decide' ? 'decide' : 'feature', area: folder }
}

/** Imports only go down (DESIGN §2): every import that climbs, or that crosses to a neighbour. */
export function stairsBreaches(sources: Source[]): Breach[] {
  const breaches: Breach[] = []
  for (const source of sources.filter(source => isCode(source.path))) {
    const from = placeOf(source.path)
    if (from === null) breaches.push({ path: source.path, line: 1, says: 'has no place on the stairs of DESIGN §2' })
    else for (const one of importsOf(source)) breaches.push(...breachOf(one, from))
  }
  return breaches
}

function breachOf(one: Import, from: Place): Breach[] {
  if (one.to === null) return []
  const to = placeOf(one.to)
  const breach = (says: string) => [{ path: one.from, line: one.line, says: `imports ${one.to}: ${says}` }]
  if (to === null) return breach('that file has no place on the stairs of DESIGN §2')
  if (from.stair === 'workbench') return []
  if (to.stair === 'workbench') return breach('nothing imports test/, bench/ or rig/')
  const rule = rules[from.stair]
  return rule.may(to, from, one) ? [] : breach(rule.says)
}

type Rule = { says: string; may(to: Place, from: Place, one: Import): boolean }

const on =
  (...stairs: Stair[]) =>
  (to: Place) =>
    stairs.includes(to.stair)
const same = (to: Place, from: Place) => to.area === from.area
/** `ports/` holds types only, so nobody needs more of it than a type. */
const portTypes = (to: Place, one: Import) => to.stair === 'ports' && one.typeOnly

const rules: Record<Exclude<Stair, 'workbench'>, Rule> = {
  shared: { says: 'errors.ts and limits.ts import nothing but each other', may: on('shared') },
  batch: { says: 'batch/ is pure and at the bottom: it imports batch/ only', may: on('shared', 'batch') },
  ports: {
    says: 'ports/ are types: they import types of ports/ and batch/ only',
    may: (to, _from, one) => on('shared', 'batch', 'ports')(to) && (one.typeOnly || to.stair === 'ports'),
  },
  flow: {
    says: 'flow/ is pure: it imports batch/, flow/ and types of ports/',
    may: (to, _from, one) => on('shared', 'batch', 'flow')(to) || portTypes(to, one),
  },
  decide: {
    says: 'decide/ is pure: it imports batch/, flow/, decide/ of its area, and types of ports/ and of its area',
    may: (to, from, one) => on('shared', 'batch', 'flow')(to) || portTypes(to, one) || ownOfDecide(to, from, one),
  },
  feature: {
    says: 'a feature imports batch/, flow/, decide/, ports/ and its own folder; never an adapter, another feature, process/ or a root; fleet/ and api/ never a kind',
    may: (to, from) => on('shared', 'batch', 'flow', 'ports')(to) || same(to, from) || othersDecide(to, from),
  },
  process: {
    says: 'process/ imports batch/, flow/, decide/ of features, ports/ and its own folder',
    may: (to, from) => on('shared', 'batch', 'flow', 'ports')(to) || same(to, from) || othersDecide(to, from),
  },
  adapter: {
    says: 'an adapter imports ports/, batch/, flow/ and its own folder; never a feature, another adapter, process/ or a root',
    may: (to, from) => on('shared', 'batch', 'flow', 'ports')(to) || same(to, from),
  },
  kinds: { says: 'kinds.ts lists the kinds, and imports them and flow/ only', may: ofKinds },
  config: {
    says: 'a config.ts holds names: it imports other config.ts files, errors.ts and limits.ts only',
    may: on('config', 'shared'),
  },
  infra: { says: 'infra/ imports its own folder and config.ts files only', may: on('infra', 'config') },
  wiring: {
    says: 'wiring/ is what several roots wire alike: it imports what is in engine/, never a root, nor its config.ts',
    may: ofEngine,
  },
  root: {
    says: 'a root wires what is in engine/: it imports engine/, config.ts files and its own folder, never another root',
    may: (to, from) => !on('root', 'infra')(to) || (to.stair === 'root' && same(to, from)),
  },
  file: { says: 'a file at the top of the tree holds no code that imports', may: () => false },
}

/** Roots alone stand above it. */
function ofEngine(to: Place): boolean {
  if (to.stair === 'config') return features.includes(to.area)
  return !on('root', 'infra', 'file')(to)
}

/** A spec is data that a decision is made from; of anything else in its area a decision knows the shape only. */
function ownOfDecide(to: Place, from: Place, one: Import): boolean {
  if (!same(to, from)) return false
  return to.stair === 'decide' || one.typeOnly || one.to?.endsWith('/spec.ts') === true
}

function othersDecide(to: Place, from: Place): boolean {
  if (to.stair !== 'decide' || to.area.startsWith('adapters/')) return false
  return !((from.area === 'fleet' || from.area === 'api') && kinds.includes(to.area))
}

function ofKinds(to: Place): boolean {
  return to.stair === 'flow' || to.stair === 'shared' || (to.stair === 'feature' && kinds.includes(to.area))
}
