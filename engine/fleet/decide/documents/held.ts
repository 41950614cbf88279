import { type FaultCode, faultCodes } from '../../../errors.ts'
import { heldErrorsMax } from '../../../limits.ts'
import { canonical, type Json } from '../canonical.ts'
import { type Units, unitsFrom, unitsJson } from '../units.ts'
import { chunkCount } from './chunks.ts'
import { documentFields, type Fields } from './fields.ts'

/** Why a unit does not run. `offset`: decimal, where there is one. */
export type HeldError = { unit: string; code: FaultCode; sinceMs: number; offset: string | null }

/**
 * `/held/<id>`: what a worker may act on, which is the truth and no receipt (C-43): every accepted unit that has not
 * ended, and those that still stop. `epoch` and `generation` are those of the newest document that it accepted.
 */
export type HeldDoc = {
  atMs: number
  epoch: number
  generation: number
  chunks: number
  units: Units
  state: 'running' | 'fenced' | 'stopping' | 'left'
  errors: HeldError[]
}

export function readHeld(text: string, path: string): HeldDoc {
  const fields = documentFields(text, path)
  return {
    atMs: fields.whole('atMs'),
    epoch: fields.whole('epoch'),
    generation: fields.whole('generation'),
    chunks: chunkCount(fields),
    units: unitsFrom(fields.json('flows'), `${path}: flows`),
    state: fields.oneOf('state', ['running', 'fenced', 'stopping', 'left']),
    // One with a name in place of a unit is of a credential (C-37).
    errors: fields
      .list('errors')
      .filter(one => one.has('unit'))
      .map(readError),
  }
}

function readError(fields: Fields): HeldError {
  const code = fields.text('code')
  return {
    unit: fields.text('unit'),
    // Of a newer worker it may be one that we do not know; it is still an error of that unit.
    code: faultCodes.find(known => known === code) ?? 'steer-failed',
    sinceMs: fields.whole('sinceMs'),
    offset: fields.has('offset') ? fields.text('offset') : null,
  }
}

/** At most so many errors stand in it: the first of the list. */
export function writeHeld({ units, errors, ...rest }: HeldDoc): string {
  const shown = errors.slice(0, heldErrorsMax).map(({ offset, ...error }): Json => {
    return offset === null ? error : { ...error, offset }
  })
  return canonical({ ...rest, credentials: {}, errors: shown, flows: unitsJson(units), handlers: {}, v: 1 })
}
