/** One write, a refused one too (C-103). Names of places and of fields, never values. */
export type AuditLine = {
  audit: true
  who: string
  role: string
  address: string
  verb: string
  /** The pattern of the route; null: there is none. */
  route: string | null
  path: string
  ifMatch: string | null
  before: string | null
  after: string | null
  status: number
  code: string | null
  requestId: string
  changed: readonly string[]
}

/** What a handler finds out of its own write. */
export type AuditNotes = { before: string | null; after: string | null; changed: readonly string[] }

export const noNotes: AuditNotes = { before: null, after: null, changed: [] }
