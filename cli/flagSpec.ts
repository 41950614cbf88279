import { MillraceError } from '../engine/errors.ts'
import type { MirrorSpec } from '../engine/mirror/spec.ts'
import type { Asked } from './asked.ts'

/** Flags that stand for keys of a mirror's spec, by the names of those keys. */
export type MirrorFlags = { start?: string; naming?: string; compression?: string; create: boolean }

/**
 * The spec that the flags stand for, with the defaults of the file. Rejects with `config-invalid` that names the flag,
 * in the words that a file is refused with.
 */
export async function mirrorSpecOf(
  { from, to, topics }: Pick<Asked, 'from' | 'to' | 'topics'>,
  { start, naming, compression, create }: MirrorFlags,
): Promise<MirrorSpec> {
  const { mirrorSpec } = await import('../engine/mirror/spec.ts')
  const value = {
    from: from.name,
    to: to.name,
    topics,
    ...(start === undefined ? {} : { start: startOf(start) }),
    ...(naming === undefined ? {} : { naming: { prefix: naming } }),
    ...(compression === undefined ? {} : { compression }),
    destination: { create },
  }
  const { readSpec } = await import('../engine/process/specOf.ts')
  const read = readSpec(mirrorSpec, value)
  if (read.ok) return read.spec
  const [fault] = read.faults
  const flag = fault?.path.split('.', 1)[0]
  throw invalid(`--${flag}: found ${fault?.found}, expected ${fault?.expected}`, fault?.hint)
}

function startOf(text: string): unknown {
  if (text === 'earliest' || text === 'latest') return text
  const timeMs = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isFinite(timeMs)) return { timeMs }
  throw invalid(`--start: expected earliest, latest or a time such as 2026-01-31T00:00:00Z, found '${text}'`)
}

function invalid(text: string, hint: string | null = null): MillraceError {
  return new MillraceError('config-invalid', text, { hint })
}
