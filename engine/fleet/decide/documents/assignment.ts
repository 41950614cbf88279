import { canonical, type Json } from '../canonical.ts'
import { type Units, unitsFrom, unitsJson } from '../units.ts'
import { chunkCount } from './chunks.ts'
import { documentFields, type Fields } from './fields.ts'

/** `/assignments/<id>`: what a worker is to run. With `chunks` above 0 its units stand in the chunks (C-32). */
export type AssignmentDoc = {
  epoch: number
  generation: number
  chunks: number
  units: Units
  /** Of each flow the tag of the document that the plan was made from (C-37). */
  specs: ReadonlyMap<string, string>
}

export function readAssignment(text: string, path: string): AssignmentDoc {
  const fields = documentFields(text, path)
  return {
    epoch: fields.positive('epoch'),
    generation: fields.whole('generation'),
    chunks: chunkCount(fields),
    units: unitsFrom(fields.json('flows'), `${path}: flows`),
    specs: fields.has('specs') ? specsOf(fields.inner('specs')) : new Map(),
  }
}

function specsOf(fields: Fields): ReadonlyMap<string, string> {
  return new Map(fields.names().map(flow => [flow, fields.text(flow)]))
}

export function writeAssignment({ units, specs, ...rest }: AssignmentDoc): string {
  const doc: Record<string, Json> = { ...rest, flows: unitsJson(units), v: 1 }
  if (specs.size > 0) doc['specs'] = specs
  return canonical(doc)
}
