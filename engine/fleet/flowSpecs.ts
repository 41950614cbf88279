import { type Fault, faultOf, MillraceError } from '../errors.ts'
import type { Coordinator, Node } from '../ports/coordinator.ts'
import { overlayOf, readFlow } from './decide/documents/flow.ts'
import { paths } from './decide/documents/paths.ts'
import type { Kinds } from './kinds.ts'
import type { FlowSpec } from './workerFlow.ts'

export type FlowSpecs = {
  /** Whether the document that an assignment was made from has been taken. */
  isCurrent(flow: string, tag: string | undefined): boolean
  /**
   * Reads the documents of these flows that are not current. It is called after their assignment was read in the same
   * session, so what it reads is that version or a later one (C-37). Gives of each that was read what has changed;
   * null: nothing, and it is current. Who asks takes all that is given: it is not given again.
   */
  refresh(coordinator: Coordinator, flows: Wanted): Promise<Map<string, FlowSpec | Fault | null>>
  /** Nobody has what was read of it any more. */
  forget(flow: string): void
  /** What is known is of another tree, in which tags begin anew. */
  clear(): void
}

/** By flow the tag that its assignment names. */
type Wanted = ReadonlyMap<string, string | undefined>
type Known = {
  /** Of the document. */
  tag: string | null
  /** Of the assignment that it was read for. */
  for: string | undefined
  good: boolean
}

export function flowSpecs(kinds: Kinds): FlowSpecs {
  const known = new Map<string, Known>()

  function isCurrent(flow: string, tag: string | undefined): boolean {
    const one = known.get(flow)
    if (one === undefined || tag === undefined) return false
    return one.good && (one.tag === tag || one.for === tag)
  }

  return {
    isCurrent,
    async refresh(coordinator, flows) {
      const asked = [...flows].filter(([flow, tag]) => !isCurrent(flow, tag))
      const found = new Map<string, FlowSpec | Fault | null>()
      await Promise.all(
        asked.map(async ([flow, wanted]) => {
          const read = await nodeOr(coordinator, paths.flow(flow))
          // It is asked for again; what was read of the others is theirs all the same.
          if (read === null) return
          const { node, fault } = read
          const spec = fault ?? specOf(node?.data ?? null, flow, kinds)
          const before = known.get(flow)
          const good = !('code' in spec)
          known.set(flow, { tag: node?.tag ?? null, for: wanted, good })
          const isSame = good && before?.good && before.tag === node?.tag
          found.set(flow, isSame ? null : spec)
        }),
      )
      return found
    },
    forget: flow => void known.delete(flow),
    clear: () => known.clear(),
  }
}

/** Null: nothing is answered now. */
async function nodeOr(
  coordinator: Coordinator,
  path: string,
): Promise<{ node: Node | null; fault: Fault | null } | null> {
  try {
    return { node: await coordinator.read(path), fault: null }
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error
    return error.code === 'coordination-denied' ? { node: null, fault: faultOf(error, error.code) } : null
  }
}

function specOf(text: string | null, flow: string, kinds: Kinds): FlowSpec | Fault {
  const path = paths.flow(flow)
  if (text === null) return { code: 'not-found', message: `${path} is not there`, hint: null }
  try {
    const doc = readFlow(text, path)
    const entry = Object.hasOwn(kinds, doc.kind) ? kinds[doc.kind] : undefined
    if (entry === undefined) {
      const message = `${path}: this process knows no kind ${JSON.stringify(doc.kind)}, but ${Object.keys(kinds).join(', ')}`
      return {
        code: 'config-invalid',
        message,
        hint: 'bring this process up to the version that the flow was declared with',
      }
    }
    return { kind: entry.kind, spec: entry.readSpec(doc.spec), overlay: overlayOf(doc) }
  } catch (error) {
    if (error instanceof MillraceError) return faultOf(error, error.code)
    throw error
  }
}
