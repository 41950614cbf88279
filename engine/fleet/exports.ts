import { MillraceError } from '../errors.ts'
import { stateBytesMax } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { ObjectStore } from '../ports/store.ts'
import { readExport, type StateExport, sameWished, type Wished, writeExport } from './decide/export.ts'
import { keepFormer } from './exportHistory.ts'

const key = 'fleet/state.json'

/** The export in a store (C-104), written over what was read or written last; one call at a time (`inTurn`). */
export type Exports = {
  /** What stands there now; null: nothing. Rejects with `state-corrupt`, `state-version` or the store's fault. */
  read(): Promise<StateExport | null>
  /**
   * Ends when it is there, without a write when it says the same already. Rejects with the store's fault, or with
   * `deposed` when somebody else has written there since.
   */
  write(wished: Wished): Promise<void>
  /** A copy under the epoch's name, which a later one does not replace; false: there is nothing to put aside. */
  putAside(epoch: number): Promise<boolean>
  /** One after the other: for what looks, writes here, and does something after it. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

type Stored = { tag: string; text: string; state: StateExport }

/**
 * `keepsVersions`: the store keeps former ones by itself, as a bucket may; else the last are kept beside it, as
 * `fleet/history/state-<atMs>-<epoch>.json`.
 */
export function stateExports(
  store: ObjectStore,
  how: { clock: Pick<Clock, 'wallMs'>; keepsVersions: boolean },
): Exports {
  const { clock, keepsVersions } = how
  /** Undefined: not looked yet. */
  let last: Stored | null | undefined
  /** A write of ours that was not answered: it may be there. */
  let doubt: string | null = null
  let turn: Promise<unknown> = Promise.resolve()

  async function read(): Promise<StateExport | null> {
    last = await storedIn(store)
    doubt = null
    return last?.state ?? null
  }

  /** False: somebody has written there, or taken it away. */
  async function put(next: Omit<Stored, 'tag'>): Promise<boolean> {
    const { text } = next
    try {
      const only = last ? { ifMatch: last.tag } : { ifNoneMatch: '*' as const }
      const outcome = await store.put(key, Buffer.from(text), only)
      if (!outcome.done) return false
      stands({ ...next, tag: outcome.tag })
      return true
    } catch (error) {
      if (!(error instanceof MillraceError && error.code === 'store-away')) throw error
      // It may have arrived: then it is done, and nobody must be told that it failed.
      doubt = text
      const found = await storedIn(store).catch(() => null)
      if (found?.text !== text) throw error
      stands(found)
      return true
    }
  }

  function stands(now: Stored): void {
    last = now
    doubt = null
  }

  /** Takes over what is ours, or nobody's; anything else was written by somebody who counts on it. */
  async function lookAgain(epoch: number): Promise<void> {
    const found = await storedIn(store)
    if (found !== null && found.text !== doubt) throw writtenByOther(found.state.epoch, epoch)
    last = found
    doubt = null
  }

  return {
    read,
    async write(wished) {
      if (last === undefined) await read()
      for (;;) {
        if (last && last.state.epoch > wished.epoch) throw writtenByOther(last.state.epoch, wished.epoch)
        if (last && doubt === null && sameWished(last.state, wished)) return
        // It only grows, also when the clock is set back: the names in the history stay in order.
        const atMs = Math.max(clock.wallMs(), (last?.state.atMs ?? 0) + 1)
        const next = checked(writeExport({ ...wished, atMs, rest: last?.state.rest ?? new Map() }))
        if (last && !keepsVersions) await keepFormer(store, last.text, last.state)
        if (await put(next)) return
        await lookAgain(wished.epoch)
      }
    },
    async putAside(epoch) {
      const got = await store.get(key)
      if (got === null) return false
      await store.put(`fleet/state-${epoch}.json`, got.body, { ifNoneMatch: '*' })
      return true
    },
    inTurn(work) {
      const mine = turn.then(work)
      turn = mine.catch(() => {})
      return mine
    },
  }
}

async function storedIn(store: ObjectStore): Promise<Stored | null> {
  const got = await store.get(key, { from: 0, bytes: stateBytesMax + 1 })
  if (got === null) return null
  if (got.bytes > stateBytesMax) {
    throw new MillraceError('state-corrupt', `${key}: ${got.bytes} bytes, at most ${stateBytesMax}`)
  }
  const text = textOf(got.body)
  return { tag: got.tag, text, state: readExport(text, key) }
}

/** What could not be read again is not written. */
function checked(text: string): Omit<Stored, 'tag'> {
  const bytes = Buffer.byteLength(text)
  if (bytes > stateBytesMax) throw new MillraceError('too-large', `${key}: ${bytes} bytes, at most ${stateBytesMax}`)
  return { text, state: readExport(text, key) }
}

function textOf(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    throw new MillraceError('state-corrupt', `${key}: UTF-8 expected`)
  }
}

function writtenByOther(found: number, ours: number): MillraceError {
  const message = `${key}: somebody else has written there since, with epoch ${found}; ours is ${ours}`
  return new MillraceError('deposed', message, {
    hint: 'of two processes with one store stop one; a file that was mended is taken up at the next start',
  })
}
