import { MillraceError } from '../errors.ts'
import { pause } from '../flow/pause.ts'
import { backOffMs, changeBackOff, changeTriesMax, readBackMs, sharedDocumentBytesMax } from '../limits.ts'
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

type How = { coordinator(): Coordinator; clock: Clock; chance: Chance; stop: AbortSignal; nudge(): void }

/** What was sent and not answered: it may be done, or be done yet. */
type Sent<T> = { text: string; doc: T; before: Changed<T>['before']; cause: MillraceError }

export function startWriter(how: How): Writer {
  const inTurn = oneByOne()
  return { change: of => inTurn(of.path, () => change(how, of)) }
}

async function change<T>(how: How, of: Change<T>): Promise<Changed<T>> {
  let sent: Sent<T>[] = []
  for (let tries = 1; tries <= changeTriesMax && !how.stop.aborted; tries++) {
    const [first] = sent
    const node = first ? await readBack(how, of, first) : await how.coordinator().read(of.path)
    const ours = sent.find(one => one.text === node?.data)
    if (ours) return done(how, ours, node?.tag ?? null)
    if (first && node?.tag !== first.before?.tag) {
      // Somebody came after: whoever named a tag cannot be told whether his was before; others are merged again.
      if (of.match.ifMatch !== null || of.match.isCreate) throw outcomeUnknown(of, first.cause)
      sent = []
    }
    checkMatch(of.match, node?.tag ?? null, of.what)
    const before: Changed<T>['before'] = node && { tag: node.tag, doc: of.read(node.data, of.path) }
    const doc = of.to(before?.doc ?? null, node?.tag ?? null)
    if (doc === null) return { before, after: before, is: 'unchanged' }
    const text = of.write(doc)
    checkSize(of, text)
    const is = await send(how, of, node, text)
    if (is === 'done') return done(how, { doc, before }, await tagOf(how, of.path, text))
    // It may also be done yet: so it is repeated under the version that it had, of which one of the two can be done.
    if (is !== 'refused') sent.push({ text, doc, before, cause: is })
    await pause(how.clock, backOffMs(changeBackOff, tries, how.chance), how.stop)
  }
  const [unknown] = sent
  if (unknown) throw outcomeUnknown(of, unknown.cause)
  const why = how.stop.aborted ? 'this process stops' : 'others change it all the time'
  throw refused('conflict', `${of.what}: ${why}`, {
    status: 503,
    headers: { 'retry-after': '1' },
    hint: 'nothing was changed; ask again',
  })
}

function done<T>(how: How, { before, doc }: Pick<Sent<T>, 'before' | 'doc'>, tag: string | null): Changed<T> {
  how.nudge()
  return { before, after: { tag, doc }, is: before === null ? 'created' : 'changed' }
}

/** `refused`: somebody was faster. An error: nobody knows. */
async function send<T>(
  how: How,
  of: Change<T>,
  node: Node | null,
  data: string,
): Promise<'done' | 'refused' | MillraceError> {
  const { path } = of
  const op: Op =
    node === null ? { do: 'create', path, data, mode: 'persistent' } : { do: 'set', path, data, version: node.version }
  try {
    const written = await how.coordinator().write([op])
    if (written.done) return 'done'
    if (written.refused.why === 'missing' && node === null) throw parentMissing(of)
    return 'refused'
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'outcome-unknown') return error
    throw error
  }
}

/** Null: it has been changed again, or cannot be read now; it is written all the same. */
async function tagOf(how: How, path: string, text: string): Promise<string | null> {
  try {
    const node = await how.coordinator().read(path)
    return node?.data === text ? node.tag : null
  } catch (error) {
    if (error instanceof MillraceError) return null
    throw error
  }
}

/** The connection that lost an answer is soon another. */
async function readBack<T>(how: How, of: Change<T>, sent: Sent<T>): Promise<Node | null> {
  const endMs = how.clock.nowMs() + readBackMs
  for (let tries = 1; ; tries++) {
    try {
      return await how.coordinator().read(of.path)
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error
      if (how.stop.aborted || how.clock.nowMs() >= endMs) throw outcomeUnknown(of, sent.cause)
      await pause(how.clock, backOffMs(changeBackOff, tries, how.chance), how.stop)
    }
  }
}

function outcomeUnknown(of: { what: string }, cause: MillraceError): MillraceError {
  return refused('outcome-unknown', `${of.what}: it was sent and not answered: it may be done or not`, {
    status: 503,
    headers: { 'retry-after': '1' },
    hint: 'read it, or repeat it: a repeat is safe',
    cause,
  })
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
