import { canonical, type Json } from '../canonical.ts'
import { type ChangedBy, changedByOf } from './changedBy.ts'
import { documentFields, type Fields } from './fields.ts'

export const drainReasons = ['api', 'scale-in', 'deploy', 'stop'] as const
export type Drain = { atMs: number; by: string; reason: (typeof drainReasons)[number] }

/** `/wishes`: what people ask of the fleet, as levels (C-39). */
export type WishesDoc = {
  auto: boolean
  changedBy: ChangedBy
  /** By id of a worker. */
  drains: ReadonlyMap<string, Drain>
  /** By unit the worker that it is to run on. */
  moves: ReadonlyMap<string, string>
  /** Raised by one with each request to balance; 0: none. */
  rebalance: number
  rest: ReadonlyMap<string, Json>
}

/** What stands when there is no such document. */
export const noWishes: WishesDoc = {
  auto: true,
  changedBy: { atMs: 0, by: '' },
  drains: new Map(),
  moves: new Map(),
  rebalance: 0,
  rest: new Map(),
}

const known = ['auto', 'changedBy', 'drains', 'moves', 'rebalance']

export function readWishes(text: string, path: string): WishesDoc {
  const fields = documentFields(text, path)
  const drains = fields.inner('drains')
  const moves = fields.inner('moves')
  return {
    auto: fields.flag('auto'),
    changedBy: changedByOf(fields.inner('changedBy')),
    drains: new Map(drains.names().map(id => [id, drainOf(drains.inner(id))])),
    moves: new Map(moves.names().map(unit => [unit, moves.text(unit)])),
    rebalance: fields.whole('rebalance'),
    rest: fields.rest(known),
  }
}

function drainOf(fields: Fields): Drain {
  return { atMs: fields.whole('atMs'), by: fields.text('by'), reason: fields.oneOf('reason', drainReasons) }
}

export function writeWishes({ rest, ...doc }: WishesDoc): string {
  return canonical(new Map<string, Json>([...rest, ...Object.entries(doc), ['v', 1]]))
}
