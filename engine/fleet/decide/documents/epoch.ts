import { canonical } from '../canonical.ts'
import { documentFields } from './fields.ts'

/** `/epoch`: who took office last. */
export type EpochDoc = { epoch: number; leader: string; atMs: number }

export function readEpoch(text: string, path: string): EpochDoc {
  const fields = documentFields(text, path)
  return { epoch: fields.positive('epoch'), leader: fields.text('leader'), atMs: fields.whole('atMs') }
}

export function writeEpoch(doc: EpochDoc): string {
  return canonical({ ...doc, v: 1 })
}
