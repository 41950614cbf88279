import { isDeepStrictEqual } from 'node:util'
import { MillraceError } from '../engine/errors.ts'
import { kindEntries } from '../engine/wiring/kinds.ts'
import type { Flow } from './answers.ts'
import { type ApiClient, apiPath } from './apiClient.ts'
import { refusalOf } from './apiProblem.ts'
import type { FlowOfFile } from './flowsFile.ts'
import { specDiff } from './specDiff.ts'

/** The flow as it is declared now; null: there is none of that name. */
export async function declaredNow(api: ApiClient, flow: string): Promise<Flow | null> {
  const told = await api.tell({ method: 'GET', path: apiPath('flows', flow) })
  if (told.ok) return told.answer.json as Flow
  if (told.problem.code === 'not-found') return null
  throw refusalOf(told.problem)
}

/** What is being deleted cannot be declared: that it stands as it was would be true for a moment only. */
export function refuseDeleting(before: Flow | null): void {
  if (!before?.deleting) return
  throw new MillraceError('conflict', `flow ${before.flow} is being deleted`, {
    hint: 'apply it again when it is gone',
  })
}

/** What a PUT of `after` would change; none when both mean the same: a default may be written down or not. */
export function changesOf(
  before: Pick<Flow, 'kind' | 'spec'> | null,
  after: Pick<FlowOfFile, 'kind' | 'spec'>,
): string[] {
  if (before === null) return specDiff(undefined, { kind: after.kind, ...after.spec })
  const lines = specDiff({ kind: before.kind, ...before.spec }, { kind: after.kind, ...after.spec })
  return lines.length === 0 || (before.kind === after.kind && isSameSpec(before.kind, before.spec, after.spec))
    ? []
    : lines
}

/** A kind that this version does not know is compared as text. */
function isSameSpec(kind: string, a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const entry = Object.hasOwn(kindEntries, kind) ? kindEntries[kind] : undefined
  if (entry === undefined) return false
  const requires = (of: Record<string, unknown>) => of['requires'] ?? []
  try {
    return isDeepStrictEqual(requires(a), requires(b)) && isDeepStrictEqual(entry.readSpec(a), entry.readSpec(b))
  } catch (error) {
    if (error instanceof MillraceError) return false
    throw error
  }
}
