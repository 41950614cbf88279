import { paths } from '../fleet/decide/documents/paths.ts'
import { noWishes, readWishes, type WishesDoc, writeWishes } from '../fleet/decide/documents/wishes.ts'
import { changedPaths } from './bodyPaths.ts'
import { changedNow } from './flowChange.ts'
import type { Ask } from './route.ts'
import type { Changed } from './writer.ts'

/** A change of what people ask of the fleet (C-39): a level, merged with what others write. */
export async function changeWishes(ask: Ask, to: (wishes: WishesDoc) => WishesDoc | null): Promise<Changed<WishesDoc>> {
  const changed = await ask.writer.change<WishesDoc>({
    path: paths.wishes,
    what: 'the wishes of the fleet',
    match: ask.match,
    read: readWishes,
    write: writeWishes,
    to(before) {
      const after = to(before ?? noWishes)
      return after && { ...after, changedBy: changedNow(ask) }
    },
  })
  const { before, after } = changed
  const shape = (doc: WishesDoc | undefined) => {
    const { auto, drains, moves, rebalance } = doc ?? noWishes
    return { auto, drains, moves, rebalance }
  }
  ask.note({
    before: before?.tag ?? null,
    after: after?.tag ?? null,
    changed: changedPaths(shape(before?.doc), shape(after?.doc)),
  })
  return changed
}
