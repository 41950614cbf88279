import { MillraceError } from '../../errors.ts'
import { canonical, type Json } from './canonical.ts'
import { documentFields } from './documents/fields.ts'
import { paths } from './documents/paths.ts'

/** What people wish of a fleet, and the epoch of its leader: the documents as they are, null where there is none. */
export type Wished = {
  /** 0: nobody has taken office yet. */
  epoch: number
  flows: ReadonlyMap<string, Json>
  logging: Json
  wishes: Json
}
/** `fleet/state.json` (C-104). `rest`: what a newer version wrote beside it; writers keep it (C-30). */
export type StateExport = Wished & { atMs: number; rest: ReadonlyMap<string, Json> }

const known = ['atMs', 'epoch', 'flows', 'logging', 'wishes']
/** DESIGN §3; as a name in the tree it must not lead elsewhere. */
const flowName = /^[a-z0-9][a-z0-9-]{0,62}$/

export function writeExport({ rest, ...state }: StateExport): string {
  return canonical(new Map<string, Json>([...rest, ...Object.entries(state), ['v', 1]]))
}

/**
 * Strict in what it means, not in how it is spaced: people look at this file, and may mend it. Throws `state-corrupt`
 * or `state-version`, naming the place.
 */
export function readExport(text: string, where: string): StateExport {
  const fields = documentFields(text, where)
  const flows = fields.inner('flows')
  const documentOf = (from: typeof fields, name: string, mayBeNull: boolean): Json => {
    const json = from.json(name)
    if (mayBeNull && json === null) return null
    if (!isObject(json)) throw from.corrupt(name, mayBeNull ? 'an object or null' : 'an object')
    if (!isWritable(json)) throw corrupt(`${where}: ${name}`, 'whole numbers below 2^53 expected, not too deep')
    return json
  }
  for (const name of flows.names()) if (!flowName.test(name)) throw flows.corrupt(name, 'the name of a flow')
  return {
    atMs: fields.whole('atMs'),
    epoch: fields.whole('epoch'),
    flows: new Map(flows.names().map(name => [name, documentOf(flows, name, false)])),
    logging: documentOf(fields, 'logging', true),
    wishes: documentOf(fields, 'wishes', true),
    rest: fields.rest(known),
  }
}

/** Whether a change of this document changes the export. */
export function isExported(path: string): boolean {
  return path === paths.epoch || path === paths.wishes || path === paths.logging || flowOf(path) !== null
}

function flowOf(path: string): string | null {
  const under = paths.flow('')
  const name = path.slice(under.length)
  return path.startsWith(under) && name !== '' && !name.includes('/') ? name : null
}

/** Of the documents as texts, by path. `epochMin`: where a document of the epoch is missing or older. */
export function wishedOf(documents: ReadonlyMap<string, string>, epochMin: number): Wished {
  const flows = new Map<string, Json>()
  for (const [path, text] of documents) {
    const name = flowOf(path)
    if (name === null) continue
    if (!flowName.test(name)) throw corrupt(path, 'the name of a flow expected')
    flows.set(name, objectOf(text, path))
  }
  const jsonAt = (path: string): Json => {
    const text = documents.get(path)
    return text === undefined ? null : objectOf(text, path)
  }
  const epoch = documents.get(paths.epoch)
  const epochNow = epoch === undefined ? 0 : documentFields(epoch, paths.epoch).positive('epoch')
  return {
    epoch: Math.max(epochMin, epochNow),
    flows,
    logging: jsonAt(paths.logging),
    wishes: jsonAt(paths.wishes),
  }
}

/** The texts by path, as they stood when it was exported; not the epoch, which only who takes office writes. */
export function documentsOf({ flows, logging, wishes }: Wished): Map<string, string> {
  const documents = new Map([...flows].map(([name, json]) => [paths.flow(name), canonical(json)]))
  if (logging !== null) documents.set(paths.logging, canonical(logging))
  if (wishes !== null) documents.set(paths.wishes, canonical(wishes))
  return documents
}

/** Whether both say the same, whenever it was said. */
export function sameWished(a: Wished, b: Wished): boolean {
  const text = ({ epoch, flows, logging, wishes }: Wished) => canonical({ epoch, flows, logging, wishes })
  return text(a) === text(b)
}

function objectOf(text: string, path: string): Json {
  let json: Json
  try {
    json = JSON.parse(text)
  } catch {
    throw corrupt(path, 'JSON expected')
  }
  if (!isObject(json)) throw corrupt(path, 'an object expected')
  if (!isWritable(json)) throw corrupt(path, 'whole numbers below 2^53 expected, not too deep')
  return json
}

function isObject(json: Json): boolean {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

function isWritable(json: Json): boolean {
  try {
    canonical(json)
    return true
  } catch {
    return false
  }
}

function corrupt(path: string, expected: string): MillraceError {
  return new MillraceError('state-corrupt', `${path}: ${expected}`)
}
