import { canonical } from '../canonical.ts'
import { documentFields } from './fields.ts'

/** `/leader/candidate-N`: who would lead, in the order of the numbers (C-20). `url`: of its API; null: it has none. */
export type CandidateDoc = { id: string; leaseMs: number; software: string; url: string | null }

export function readCandidate(text: string, path: string): CandidateDoc {
  const fields = documentFields(text, path)
  return {
    id: fields.text('id'),
    leaseMs: fields.positive('leaseMs'),
    software: fields.text('software'),
    url: fields.textOrNull('url'),
  }
}

export function writeCandidate(doc: CandidateDoc): string {
  return canonical({ ...doc, v: 1 })
}
