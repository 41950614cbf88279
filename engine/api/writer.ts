import { MillraceError } from '../errors.ts'
import { pause } from '../flow/pause.ts'
import { backOffMs, changeBackOff, changeTriesMax, sharedDocumentBytesMax } from '../limits.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Coordinator, Node, Op } from '../ports/coordinator.ts'
import { checkMatch, type Match } from './match.ts'
import { oneByOne } from './oneByOne.ts'
import { refused } from './refusal.ts'

/** One change of one document by compare-and-set (C-23, C-100). */
export type Change<T> = {
  path: string
  /** How it is called to people. */
  what: string
  match: Match
  read(text: string, path: string): T
  write(doc: T): string
  /** From what is there, null = nothing, to what is to be; null: as it is. Called again when somebody was faster. */
  to(before: T | null, tag: string | null): T | null
}

/** `tag` null: it was changed again before its new tag was read. */
export type Changed<T> = {
  before: { tag: string; doc: T } | null
  after: { tag: string | null; doc: T } | null
  is: 'created' | 'changed' | 'unchanged'
}

export type Writer = { change<T>(change: Change<T>): Promise<Changed<T>> }

export function startWriter(how: {
  coordinator(): Coordinator
  clock: Clock
  chance: Chance
  stop: AbortSignal
  nudge(): void
}): Writer {
  const inTurn = oneByOne()

  async function change<T>(of: Change<T>): Promise<Changed<T>> {
    for (let tries = 1; tries <= changeTriesMax; tries++) {
      const node = await how.coordinator().read(of.path)
      checkMatch(of.match, node?.tag ?? null, of.what)
      const before = node && { tag: node.tag, doc: of.read(node.data, of.path) }
      const doc = of.to(before?.doc ?? null, node?.tag ?? null)
      if (doc === null) return { before, after: before, is: 'unchanged' }
      const text = of.write(doc)
      checkSize(of, text)
      const written = await tryWrite(of, node, text)
      if (written !== null) {
        how.nudge()
        return { before, after: { tag: written.tag, doc }, is: node ? 'changed' : 'created' }
      }
      await pause(how.clock, backOffMs(changeBackOff, tries, how.chance), how.stop)
      if (how.stop.aborted) break
    }
    throw refused('conflict', `${of.what}: others change it all the time`, {
      status: 503,
      headers: { 'retry-after': '1' },
      hint: 'nothing was changed; ask again',
    })
  }

  /** Null: somebody was faster. */
  async function tryWrite<T>(of: Change<T>, node: Node | null, text: string): Promise<{ tag: string | null } | null> {
    const op: Op =
      node === null
        ? { do: 'create', path: of.path, data: text, mode: 'persistent' }
        : { do: 'set', path: of.path, data: text, version: node.version }
    try {
      const written = await how.coordinator().write([op])
      if (!written.done && written.refused.why === 'missing' && node === null) throw parentMissing(of)
      return written.done ? { tag: await tagOf(of.path, text) } : null
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code !== 'outcome-unknown') throw error
      return await readBack(of, node, text, error)
    }
  }

  async function tagOf(path: string, text: string): Promise<string | null> {
    try {
      const node = await how.coordinator().read(path)
      return node?.data === text ? node.tag : null
    } catch (error) {
      // It is written all the same.
      if (error instanceof MillraceError) return null
      throw error
    }
  }

  /**
   * The write was sent and not answered. It may also be done yet: so it is repeated only under the version that it
   * had, of which one of the two can be done. What is there when it was neither ours nor the old one is somebody's
   * who came after: whoever named a tag cannot be told whether his was before, others are merged again.
   */
  async function readBack<T>(
    of: Change<T>,
    node: Node | null,
    text: string,
    cause: MillraceError,
  ): Promise<{ tag: string | null } | null> {
    const unknown = (more: unknown) =>
      refused('outcome-unknown', `${of.what}: it was sent and not answered: it may be done or not`, {
        status: 503,
        headers: { 'retry-after': '1' },
        hint: 'read it, or repeat it: a repeat is safe',
        cause: more,
      })
    const now = await how
      .coordinator()
      .read(of.path)
      .catch((error: unknown) => {
        throw unknown(error)
      })
    if (now?.data === text) return { tag: now.tag }
    const isAsBefore = now?.tag === node?.tag
    if (!isAsBefore && (of.match.ifMatch !== null || of.match.isCreate)) throw unknown(cause)
    return null
  }

  return { change: of => inTurn(of.path, () => change(of)) }
}

function checkSize(of: { what: string; path: string }, text: string): void {
  const bytes = new TextEncoder().encode(text).length
  if (bytes <= sharedDocumentBytesMax) return
  throw new MillraceError(
    'too-large',
    `${of.what}: ${of.path} would have ${bytes} bytes, at most ${sharedDocumentBytesMax}`,
  )
}

function parentMissing(of: { path: string }): MillraceError {
  const message = `${of.path}: the folder of it is not there`
  return new MillraceError('coordination-unreachable', message, { retryable: true, hint: 'the fleet is just starting' })
}
