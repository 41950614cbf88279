import type { Fields } from './fields.ts'

/** Who has changed a document last; wall time, only to be shown. */
export type ChangedBy = { atMs: number; by: string }

export function changedByOf(fields: Fields): ChangedBy {
  return { atMs: fields.whole('atMs'), by: fields.text('by') }
}
