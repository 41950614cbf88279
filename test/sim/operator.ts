import { MillraceError } from '../../engine/errors.ts'
import { type FlowDoc, readFlow, writeFlow } from '../../engine/fleet/decide/documents/flow.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { noWishes, readWishes, type WishesDoc, writeWishes } from '../../engine/fleet/decide/documents/wishes.ts'
import { pause } from '../../engine/flow/pause.ts'
import type { Coordinator, Node } from '../../engine/ports/coordinator.ts'
import type { Fleet } from './fleet.ts'

/** Somebody who changes flows and wishes, as any controller's API would: by compare-and-set, until it is done (C-23). */
export type Operator = {
  wish(change: (wishes: WishesDoc) => WishesDoc): void
  flow(name: string, change: (doc: FlowDoc) => FlowDoc): void
}

const againMs = 300

export function makeOperator(fleet: Fleet): Operator {
  const { machine, open } = fleet.outsider('operator')
  const never = new AbortController().signal
  let coordinator: Coordinator | null = null
  /** One after the other: what is asked for later is done later. */
  let last: Promise<void> = Promise.resolve()

  async function tryOnce(path: string, next: (node: Node | null) => string | null): Promise<boolean> {
    if (coordinator === null || coordinator.state().phase === 'lost') coordinator = open()
    const node = await coordinator.read(path)
    const data = next(node)
    if (data === null || data === node?.data) return true
    const written = await coordinator.write([
      node ? { do: 'set', path, data, version: node.version } : { do: 'create', path, data, mode: 'persistent' },
    ])
    return written.done
  }

  function change(path: string, next: (node: Node | null) => string | null): void {
    const work = async () => {
      for (;;) {
        try {
          if (await tryOnce(path, next)) return
        } catch (error) {
          if (!(error instanceof MillraceError)) throw error
        }
        await pause(machine.clock, againMs, never)
      }
    }
    machine.enter(() => {
      last = last.then(work)
    })
  }

  return {
    wish: next =>
      change(paths.wishes, node => writeWishes(next(node ? readWishes(node.data, paths.wishes) : noWishes))),
    flow: (name, next) =>
      change(paths.flow(name), node => (node ? writeFlow(next(readFlow(node.data, paths.flow(name)))) : null)),
  }
}
