import { MillraceError } from '../errors.ts'
import type { FlowEvent } from '../flow/event.ts'
import { every } from '../flow/every.ts'
import { namesToldMax, standbyLookMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Coordinator } from '../ports/coordinator.ts'
import { type DeclaredFlow, declaredChanges } from './decide/declared.ts'
import { type FlowDoc, readFlow } from './decide/documents/flow.ts'
import { paths } from './decide/documents/paths.ts'

/**
 * The flows are those of the leader's file (C-67), so that a controller with another file changes them when it leads,
 * and pauses those that its own does not have. One that stands by says so before: when two looks have found the same,
 * for an edit of one file for all is taken by the leader within seconds. Gives the function that ends it.
 */
export function watchStandbyFile(how: {
  coordinator(): Coordinator
  declared(): ReadonlyMap<string, DeclaredFlow>
  leads(): boolean
  clock: Clock
  tell(flow: null, event: FlowEvent): void
}): () => void {
  let found = ''
  let said = ''
  let looking = false

  async function look(): Promise<void> {
    const coordinator = how.coordinator()
    if (looking || how.leads() || coordinator.state().phase !== 'connected') return
    looking = true
    try {
      const before = found
      found = differs(await documentsIn(coordinator), how.declared(), how.clock)
      if (found === '') said = ''
      if (found === '' || found !== before || found === said) return
      said = found
      const message = `this controller's file is not the leader's: ${found}`
      const hint =
        'give all controllers of a fleet one file; another fleet needs another path in coordination.zookeeper'
      how.tell(null, { code: 'file-differs', message, hint })
    } catch (error) {
      // It is looked again soon.
      if (!(error instanceof MillraceError)) throw error
    } finally {
      looking = false
    }
  }

  return every(how.clock, standbyLookMs, () => void look())
}

async function documentsIn(coordinator: Coordinator): Promise<Map<string, FlowDoc | null>> {
  const names = await coordinator.children(paths.flows)
  const docs = await Promise.all(
    names.map(async (name): Promise<[string, FlowDoc | null]> => {
      const node = await coordinator.read(paths.flow(name))
      return [name, node === null ? null : readable(node.data, paths.flow(name))]
    }),
  )
  return new Map(docs)
}

function readable(text: string, path: string): FlowDoc | null {
  try {
    return readFlow(text, path)
  } catch {
    // Whoever leads says what is wrong with it.
    return null
  }
}

/** What would change if this process led; '' = nothing. */
function differs(
  docs: ReadonlyMap<string, FlowDoc | null>,
  declared: ReadonlyMap<string, DeclaredFlow>,
  { wallMs }: Clock,
): string {
  const names = [...declaredChanges(declared, docs, wallMs()).changes.keys()].sort()
  const told = (of: readonly string[]) => {
    const more = of.length > namesToldMax ? ` and ${of.length - namesToldMax} more` : ''
    return `${of.slice(0, namesToldMax).join(', ')}${more}`
  }
  const paused = names.filter(name => !declared.has(name))
  const written = names.filter(name => declared.has(name))
  return [
    ...(paused.length > 0 ? [`it would pause ${told(paused)}`] : []),
    ...(written.length > 0 ? [`it would write ${told(written)}`] : []),
  ].join(', ')
}
