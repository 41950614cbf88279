import { type Fault, faultOf, MillraceError } from '../errors.ts'
import { joinChunks, readChunk } from '../fleet/decide/documents/chunks.ts'
import { type FlowDoc, readFlow } from '../fleet/decide/documents/flow.ts'
import { type HeldDoc, readHeld } from '../fleet/decide/documents/held.ts'
import { chunkName, paths } from '../fleet/decide/documents/paths.ts'
import { noWishes, readWishes, type WishesDoc } from '../fleet/decide/documents/wishes.ts'
import { readWorker, type WorkerDoc } from '../fleet/decide/documents/worker.ts'
import type { Units } from '../fleet/decide/units.ts'
import { chunkReadsMax } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Coordinator, Node } from '../ports/coordinator.ts'

export type Tagged<T> = { tag: string; doc: T }
export type Found<T> = Tagged<T> | { tag: string; fault: Fault }

/** What one request reads of the documents. */
export type Seen = {
  /** Null: there is none. Throws what is wrong with it. */
  flow(name: string): Promise<Tagged<FlowDoc> | null>
  flows(): Promise<ReadonlyMap<string, Found<FlowDoc>>>
  /** `tag` null: it is not there, and `noWishes` stands. */
  wishes(): Promise<{ tag: string | null; doc: WishesDoc }>
  /** To be shown: of those that cannot be read the last good ones stand (COORDINATION §10). */
  standingWishes(): Promise<{ doc: WishesDoc; fault: Fault | null }>
  workers(): Promise<ReadonlyMap<string, Found<WorkerDoc>>>
  /** With the units of its chunks. */
  helds(): Promise<ReadonlyMap<string, Found<HeldDoc>>>
  read(path: string): Promise<Node | null>
  children(path: string): Promise<string[]>
  /** As of when the answer is true: of the oldest thing read. */
  asOfMs(): number
}

/** Reads that are answered from memory while the coordination service is away (C-101). */
export type Views = { begin(): Seen }

type Remembered<T> = { value: T; atMs: number }

export function startViews(how: { coordinator(): Coordinator; clock: Clock }): Views {
  const nodes = new Map<string, Remembered<Node | null>>()
  const lists = new Map<string, Remembered<string[]>>()
  const good = { wishes: noWishes }

  async function either<T>(
    memory: Map<string, Remembered<T>>,
    path: string,
    ask: () => Promise<T>,
  ): Promise<Remembered<T>> {
    const atMs = how.clock.wallMs()
    try {
      const found = { value: await ask(), atMs }
      if (isKept(path, found.value !== null)) memory.set(path, found)
      else memory.delete(path)
      return found
    } catch (error) {
      const known = isAway(error) ? memory.get(path) : undefined
      if (known) return known
      throw error
    }
  }

  /** What is not listed any more is not remembered. */
  function forget(parent: string, names: readonly string[]): void {
    const there = new Set(names.map(name => `${parent}/${name}`))
    for (const path of nodes.keys()) if (path.startsWith(`${parent}/`) && !there.has(path)) nodes.delete(path)
  }

  function begin(): Seen {
    let asOfMs = how.clock.wallMs()
    const note = <T>({ value, atMs }: Remembered<T>): T => {
      asOfMs = Math.min(asOfMs, atMs)
      return value
    }
    const read = async (path: string) => note(await either(nodes, path, () => how.coordinator().read(path)))
    const children = async (path: string) => {
      const names = note(await either(lists, path, () => how.coordinator().children(path))).toSorted()
      forget(path, names)
      return names
    }
    return seenOf({ read, children, asOfMs: () => asOfMs }, good)
  }
  return { begin }
}

function seenOf(of: Pick<Seen, 'read' | 'children' | 'asOfMs'>, good: { wishes: WishesDoc }): Seen {
  async function all<T>(parent: string, read: (text: string, path: string) => Promise<T | null> | T) {
    const found = await Promise.all(
      (await of.children(parent)).map(async (name): Promise<[string, Found<T>] | null> => {
        const path = `${parent}/${name}`
        const node = await of.read(path)
        if (node === null) return null
        try {
          const doc = await read(node.data, path)
          return doc === null ? null : [name, { tag: node.tag, doc }]
        } catch (error) {
          return [name, { tag: node.tag, fault: unreadable(error) }]
        }
      }),
    )
    return new Map(found.filter(one => one !== null))
  }
  async function wishes(): Promise<{ tag: string | null; doc: WishesDoc }> {
    const node = await of.read(paths.wishes)
    const doc = node ? readWishes(node.data, paths.wishes) : noWishes
    good.wishes = doc
    return { tag: node?.tag ?? null, doc }
  }
  return {
    ...of,
    wishes,
    async standingWishes() {
      try {
        return { doc: (await wishes()).doc, fault: null }
      } catch (error) {
        return { doc: good.wishes, fault: unreadable(error) }
      }
    },
    async flow(name) {
      const node = await of.read(paths.flow(name))
      return node && { tag: node.tag, doc: readFlow(node.data, paths.flow(name)) }
    },
    flows: () => all(paths.flows, readFlow),
    workers: () => all(paths.workers, readWorker),
    helds: () => all(paths.helds, (text, path) => wholeOf(of, path, { text, parse: readHeld })),
  }
}

/** What is wrong with a document; anything else is thrown. */
function unreadable(error: unknown): Fault {
  if (!(error instanceof MillraceError) || !error.code.startsWith('state-')) throw error
  return faultOf(error, error.code)
}

type Head = { epoch: number; generation: number; chunks: number; units: Units }

/**
 * A document with all its units (C-32). A chunk that is missed means that the head has been written anew: it is read
 * again. Null: it is not there any more.
 */
export async function wholeOf<T extends Head>(
  from: Pick<Seen, 'read'>,
  path: string,
  { text, parse }: { text: string | null; parse(text: string, path: string): T },
): Promise<T | null> {
  let data = text
  for (let tries = 0; tries < chunkReadsMax; tries++) {
    data ??= (await from.read(path))?.data ?? null
    if (data === null) return null
    const head = parse(data, path)
    if (head.chunks === 0) return head
    const places = Array.from({ length: head.chunks }, (_, k) => `${path}/${chunkName(head, k)}`)
    const chunks = await Promise.all(places.map(place => from.read(place)))
    const units = chunks.flatMap((chunk, index) => (chunk ? [readChunk(chunk.data, places[index] ?? path)] : []))
    if (units.length === chunks.length) return { ...head, units: joinChunks(units) }
    data = null
  }
  throw new MillraceError('state-corrupt', `${path}: not all its chunks are there, in ${chunkReadsMax} tries (C-32)`)
}

/** Of these there is one each, so that it is not there is worth remembering. */
const single: readonly string[] = [paths.wishes, paths.epoch, paths.logging]

/**
 * What a worker measures, and what it is to run, is soon another thing, and workers come under new names, as do flows
 * that somebody asks for and that are not there: memory would grow by what nobody asks for again.
 */
function isKept(path: string, isThere: boolean): boolean {
  if (!isThere) return single.includes(path)
  return !path.startsWith(`${paths.statistics}/`) && !path.startsWith(`${paths.assignments}/`)
}

function isAway(error: unknown): boolean {
  return error instanceof MillraceError && ['coordination-unreachable', 'session-lost'].includes(error.code)
}
