import { MillraceError } from '../engine/errors.ts'

/** What became of one flow. `error`: it was refused. */
export type Applied = {
  flow: string
  is: 'created' | 'changed' | 'unchanged' | 'left' | 'refused' | 'would be created' | 'would be changed'
  note: string
  /** As the API answered, if it was asked. */
  answer: unknown
  warnings: readonly { code: string; message: string; hint: string | null }[]
  error: MillraceError | null
  changes: readonly string[]
}

/** A refusal is of this flow; contact that is lost is of all. */
export async function tried(flow: string, act: () => Promise<Applied>): Promise<Applied> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code === 'api-unreachable') throw error
    return { ...nothing(flow, 'refused', ''), error }
  }
}

export function nothing(flow: string, is: Applied['is'], note: string): Applied {
  return { flow, is, note, answer: null, warnings: [], error: null, changes: [] }
}
