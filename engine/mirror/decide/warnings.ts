import type { Warning } from '../../flow/report.ts'
import type { MirrorSpec } from '../spec.ts'

/** What a flow does because its spec says so, and whoever looks at its status should know (M-22, M-33). */
export function warningsOf({ loopGuard, isolation }: MirrorSpec): Warning[] {
  const warnings: Warning[] = []
  if (loopGuard === 'off') {
    const message =
      'loopGuard is off: records may go round between clusters, and a lost checkpoint is taken for a new partition, which is copied again from its log start'
    warnings.push({ code: 'loop-guard-off', message, hint: 'loopGuard: topic, where topics may be created there' })
  }
  if (isolation === 'read_uncommitted') {
    const message = 'isolation is read_uncommitted: what transactions have aborted is copied too, as if it were data'
    warnings.push({ code: 'reads-uncommitted', message, hint: 'isolation: read_committed leaves it out' })
  }
  return warnings
}
