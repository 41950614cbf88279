import { planGainMin, planHysteresis, planMovesMax, planSettle } from '../../limits.ts'
import { type Lightest, lightestOf, type Room } from './lightest.ts'

/** `ready` gives and takes; `draining` only gives; `retiring` keeps, and takes when no ready one can; `quarantined` keeps nothing (C-52). */
export type WorkerState = 'ready' | 'draining' | 'retiring' | 'quarantined'
export type PlanWorker = {
  id: string
  state: WorkerState
  /** 1000 × vCPU (C-54). */
  capacity: number
  tags: readonly string[]
  unitsMax: number
}
export type PlanItem = {
  id: string
  /** The unit's name without its number: units of one part are spread. */
  part: string
  weight: number
  requires: readonly string[]
  /** False: it would start over, so it is left to end (C-50). */
  movable: boolean
  /** Who has it; one that is not among the workers is gone, and its lease over. Null: nobody. */
  owner: string | null
  /** Withdrawn, and not yet free. */
  inTransit: boolean
  /** Whom it was withdrawn for, or who had it last. */
  intent: string | null
  /** Whom people want it on (C-39). */
  wish: string | null
  /** It is where it is because the worker that had it has left; the higher, the later it came. */
  guest?: number | null
}
export type PlanView = {
  workers: readonly PlanWorker[]
  items: readonly PlanItem[]
  /** The round before was stopped by its limit of moves. */
  settling: boolean
  /** People ask for a balance now. */
  force: boolean
  auto: boolean
}
export type Unplaced = 'no-worker' | 'no-tag' | 'units-max'
export type Why = 'gave' | 'leaving' | 'transit' | 'off' | 'few' | 'steady' | 'no-gain' | 'balance'
export type Plan = {
  give: { id: string; to: string }[]
  withdraw: { id: string; from: string; to: string | null }[]
  unplaced: { id: string; why: Unplaced }[]
  why: Why
  /** Stopped by the limit of moves: the next round gets `settling`. */
  more: boolean
  loads: ReadonlyMap<string, number>
}

type Place = Room & { has: Set<Piece> }
type Piece = PlanItem & { at: Place | null; moved: boolean }

/**
 * Who owns what (COORDINATION §5): equal input, equal output, in any order of its lists. Fewest moves: what is owned
 * stays unless its worker leaves, somebody wishes otherwise, or the loads differ by more than the hysteresis.
 */
export function plan(view: PlanView, movesMax = planMovesMax): Plan {
  const round = roundOf(view, movesMax)
  giveFree(round)
  leave(round)
  const why = balance(round, view)
  const loads = new Map(round.places.map(place => [place.id, place.load]))
  return { give: round.give, withdraw: round.withdraw, unplaced: round.unplaced, why, more: round.more, loads }
}

type Round = {
  places: Place[]
  byId: ReadonlyMap<string, Place>
  pieces: Piece[]
  give: Plan['give']
  withdraw: Plan['withdraw']
  unplaced: Plan['unplaced']
  movesLeft: number
  more: boolean
}

function roundOf(view: PlanView, movesMax: number): Round {
  const places = view.workers
    .map((worker): Place => ({ ...worker, load: 0, units: 0, parts: new Map(), has: new Set() }))
    .sort(byIdOf)
  const byId = new Map(places.map(place => [place.id, place]))
  const pieces = view.items.map((item): Piece => ({ ...item, at: null, moved: false })).sort(heaviestFirst)
  for (const piece of pieces) {
    const owner = piece.owner === null ? null : (byId.get(piece.owner) ?? null)
    const coming = piece.inTransit && piece.intent !== null ? (byId.get(piece.intent) ?? null) : null
    const place = owner ?? coming
    if (place) count(place, piece, 1)
    if (owner) {
      piece.at = owner
      owner.has.add(piece)
    }
  }
  return { places, byId, pieces, give: [], withdraw: [], unplaced: [], movesLeft: movesMax, more: false }
}

function count(place: Place, piece: PlanItem, sign: 1 | -1): void {
  place.load += sign * piece.weight
  place.units += sign
  place.parts.set(piece.part, (place.parts.get(piece.part) ?? 0) + sign)
}

/** Steps 1 and 2. */
function giveFree(round: Round): void {
  if (round.pieces.every(piece => piece.at !== null || piece.inTransit)) return
  const lightest = lightestOf(round.places, hasTags)
  for (const piece of round.pieces) {
    if (piece.at !== null || piece.inTransit) continue
    const to = takerOf(round, piece, lightest)
    if (typeof to === 'string') round.unplaced.push({ id: piece.id, why: to })
    else {
      count(to, piece, 1)
      piece.at = to
      piece.moved = true
      to.has.add(piece)
      lightest.took(to, piece.part)
      round.give.push({ id: piece.id, to: to.id })
    }
  }
}

/** The wish, else the intent, else the least loaded that may take it; or why nobody may. */
function takerOf({ places, byId }: Round, piece: Piece, lightest: Lightest<Place> | null = null): Place | Unplaced {
  for (const wanted of [piece.wish, piece.intent]) {
    const place = wanted === null ? undefined : byId.get(wanted)
    if (place?.state === 'ready' && mayTake(place, piece)) return place
  }
  for (const state of ['ready', 'retiring'] as const) {
    const best = lightest ? lightest.of(state, piece) : searched(places, state, piece)
    if (best) return best
  }
  const open = places.filter(place => place.state === 'ready' || place.state === 'retiring')
  if (open.length === 0) return 'no-worker'
  return open.some(place => hasTags(place, piece)) ? 'units-max' : 'no-tag'
}

/** For the few that leave: there loads fall as well. */
function searched(places: readonly Place[], state: WorkerState, piece: Piece): Place | null {
  let best: Place | null = null
  for (const place of places) {
    if (place.state === state && mayTake(place, piece) && (best === null || isBetter(place, best, piece))) best = place
  }
  return best
}

function mayTake(place: Place, piece: PlanItem): boolean {
  return place.units < place.unitsMax && hasTags(place, piece)
}

function hasTags(place: PlanWorker, piece: PlanItem): boolean {
  return piece.requires.every(tag => place.tags.includes(tag))
}

/** Places come in order of ids, so that what is equal goes to the lowest. */
function isBetter(place: Place, best: Place, piece: PlanItem): boolean {
  const [a, b] = [place.load / place.capacity, best.load / best.capacity]
  if (a !== b) return a < b
  const [inPart, inBest] = [place.parts.get(piece.part) ?? 0, best.parts.get(piece.part) ?? 0]
  if (inPart !== inBest) return inPart < inBest
  return place.units < best.units
}

/** Step 3: wishes, and what may not stay. */
function leave(round: Round): void {
  for (const piece of round.pieces) {
    const { at } = piece
    if (at === null || piece.moved) continue
    const wished = piece.wish !== null && piece.wish !== at.id ? round.byId.get(piece.wish) : undefined
    const isWished = wished?.state === 'ready' && mayTake(wished, piece)
    const lost = !hasTags(at, piece)
    const leaves = lost || ((at.state === 'draining' || at.state === 'quarantined') && piece.movable)
    if (!isWished && !leaves) continue
    const to = isWished && wished ? wished : takerElsewhere(round, piece)
    if (to === null && !lost) continue
    if (round.movesLeft === 0) {
      round.more = true
      return
    }
    move(round, piece, to)
  }
}

function takerElsewhere(round: Round, piece: Piece): Place | null {
  const to = takerOf(round, piece)
  return typeof to === 'string' || to === piece.at ? null : to
}

function move(round: Round, piece: Piece, to: Place | null): void {
  const from = piece.at
  if (from === null) return
  round.movesLeft--
  count(from, piece, -1)
  from.has.delete(piece)
  if (to) {
    count(to, piece, 1)
    to.has.add(piece)
  }
  piece.at = to
  piece.moved = true
  round.withdraw.push({ id: piece.id, from: from.id, to: to?.id ?? null })
}

/** Step 4. */
function balance(round: Round, view: PlanView): Why {
  if (round.give.length > 0) return 'gave'
  if (round.withdraw.length > 0) return 'leaving'
  if (round.pieces.some(piece => piece.inTransit)) return 'transit'
  if (!view.auto && !view.force) return 'off'
  const ready = round.places.filter(place => place.state === 'ready')
  if (ready.length < 2) return 'few'
  const even = evenOf(ready)
  if (!view.force && !view.settling && !isUneven(ready, even)) return 'steady'
  const before = round.withdraw.length
  even.share > 0 && level(round, ready, even)
  return round.withdraw.length > before ? 'balance' : 'no-gain'
}

/** What each should carry per unit of capacity, and the items that are too heavy for anybody's share. */
type Even = { share: number; giants: ReadonlyMap<Place, Piece> }

/** Step 4a: more moves cannot help a worker that has a giant; it keeps that item alone. */
function evenOf(ready: readonly Place[]): Even {
  const giants = new Map<Place, Piece>()
  let load = ready.reduce((sum, place) => sum + place.load, 0)
  let capacity = ready.reduce((sum, place) => sum + place.capacity, 0)
  for (;;) {
    const share = load / capacity
    let found: { place: Place; piece: Piece } | null = null
    for (const place of ready) {
      if (giants.has(place) || giants.size + 1 >= ready.length) continue
      const piece = heaviest(place)
      if (!piece || piece.weight <= planHysteresis * share * place.capacity) continue
      if (found === null || piece.weight / place.capacity > found.piece.weight / found.place.capacity)
        found = { place, piece }
    }
    if (found === null) return { share, giants }
    giants.set(found.place, found.piece)
    load -= found.piece.weight
    capacity -= found.place.capacity
  }
}

/** Step 4b. */
function isUneven(ready: readonly Place[], { share, giants }: Even): boolean {
  return ready.some(place => {
    const target = share * place.capacity
    const giant = giants.get(place)
    if (giant) return place.load - giant.weight > (planHysteresis - 1) * target
    return place.load > planHysteresis * target || place.load * planHysteresis < target
  })
}

/** Step 4c. */
function level(round: Round, ready: readonly Place[], even: Even): void {
  const done = new Set<Place>()
  for (;;) {
    const high = highest(ready, even, done)
    if (high === null) return
    const chosen = chooseMove(ready, even, high)
    if (chosen === null) done.add(high)
    else if (round.movesLeft === 0) {
      round.more = true
      return
    } else move(round, chosen.piece, chosen.to)
  }
}

const ratio = (place: Place) => place.load / place.capacity

/** A giant's worker with other items comes first. */
function highest(ready: readonly Place[], { giants }: Even, done: ReadonlySet<Place>): Place | null {
  let best: Place | null = null
  for (const place of ready) {
    if (done.has(place)) continue
    const giant = giants.get(place)
    if (giant) {
      if (place.units > 1) return place
      continue
    }
    if (best === null || ratio(place) > ratio(best)) best = place
  }
  return best
}

function chooseMove(ready: readonly Place[], even: Even, high: Place): { piece: Piece; to: Place } | null {
  const { share, giants } = even
  const giant = giants.get(high) ?? null
  const lows = ready
    .filter(place => place !== high && !giants.has(place))
    .sort((a, b) => ratio(a) - ratio(b) || byIdOf(a, b))
  const pieces = sorted(high).filter(piece => piece !== giant && piece.movable && !piece.moved && piece.wish === null)
  for (const low of lows) {
    const difference = ratio(high) - ratio(low)
    if (!giant && difference <= planSettle * share) return null
    const surplus = giant ? high.load - giant.weight : high.load - share * high.capacity
    const room = Math.min(surplus, share * low.capacity - low.load)
    const fit = pieces.filter(piece => mayTake(low, piece))
    const gains = (piece: Piece) => {
      const after = Math.max(ratio(high) - piece.weight / high.capacity, ratio(low) + piece.weight / low.capacity)
      return ratio(high) - after >= planGainMin * share
    }
    const keepsOrder = (piece: Piece) => piece.weight / low.capacity + piece.weight / high.capacity <= difference
    const fits = (piece: Piece) => piece.weight <= room
    // A worker that was started anew gets back what it left: of a rolling restart each unit moves twice at most.
    const guests = fit.filter(({ guest }) => guest != null).sort((a, b) => (b.guest ?? 0) - (a.guest ?? 0))
    const guest = guests.find(fits) ?? guests.findLast(gains)
    const piece = guest ?? fit.find(fits) ?? fit.findLast(gains) ?? fit.find(keepsOrder)
    if (piece) return { piece, to: low }
  }
  return null
}

function heaviest(place: Place): Piece | null {
  let found: Piece | null = null
  for (const piece of place.has) if (found === null || heaviestFirst(piece, found) < 0) found = piece
  return found
}

function sorted(place: Place): Piece[] {
  return [...place.has].sort(heaviestFirst)
}

function heaviestFirst(a: PlanItem, b: PlanItem): number {
  return b.weight - a.weight || byIdOf(a, b)
}

/** By code unit, the same on every machine. */
function byIdOf(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0
}
