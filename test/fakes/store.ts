import { createHash } from 'node:crypto'
import { type FaultCode, MillraceError } from '../../engine/errors.ts'
import { checkStoreKey } from '../../engine/flow/storeKey.ts'
import { storeListMax } from '../../engine/limits.ts'
import type { ObjectStore, Only, Put } from '../../engine/ports/store.ts'

/** Objects in memory, with vices by name (STYLE 3). */
export type FakeStore = ObjectStore & {
  objects: Map<string, Buffer>
  /** What was put, whether it was done or not, in order. */
  puts: string[]
  /** From now on all fails so; null: it is well again. */
  failAll(code: FaultCode | null): void
  /** The next put of a key that fits is not done. */
  failNextPut(code: FaultCode, key?: RegExp): void
  /** The next put of a key that fits is done, and its answer lost: it rejects with `store-away`. */
  loseNextAnswer(key?: RegExp): void
  /** Called in the next put of a key that fits, before it is judged: somebody else was faster. */
  beforeNextPut(act: () => void, key?: RegExp): void
}

type Vice = { key: RegExp; act: 'lose' | FaultCode | (() => void) }

export function fakeStore(clock: { wallMs(): number }): FakeStore {
  const objects = new Map<string, Buffer>()
  const puts: string[] = []
  const vices: Vice[] = []
  let broken: FaultCode | null = null

  function fail(code: FaultCode, what: string): never {
    throw new MillraceError(code, `${what} in a fake store`, { retryable: code !== 'store-denied' })
  }
  function begin(verb: string, key: string): void {
    if (broken) fail(broken, `${verb} ${key}`)
  }
  const viceOf = (key: string) => {
    const at = vices.findIndex(vice => vice.key.test(key))
    return at === -1 ? null : (vices.splice(at, 1)[0]?.act ?? null)
  }

  async function put(key: string, body: Uint8Array, only?: Only): Promise<Put> {
    checkStoreKey(key)
    begin('put', key)
    puts.push(key)
    const vice = viceOf(key)
    if (typeof vice === 'function') vice()
    else if (vice !== null && vice !== 'lose') fail(vice, `put ${key}`)
    const found = objects.get(key)
    if (only && 'ifNoneMatch' in only && found) return { done: false, why: 'exists' }
    if (only && 'ifMatch' in only && (!found || tagOf(found) !== only.ifMatch)) return { done: false, why: 'changed' }
    objects.set(key, Buffer.from(body))
    if (vice === 'lose') fail('store-away', `put ${key}`)
    return { done: true, tag: tagOf(Buffer.from(body)) }
  }

  return {
    objects,
    puts,
    put,
    async get(key, range) {
      checkStoreKey(key)
      begin('get', key)
      const found = objects.get(key)
      if (!found) return null
      const body = range ? found.subarray(range.from, range.from + range.bytes) : found
      return { body: Buffer.from(body), bytes: found.length, tag: tagOf(found) }
    },
    async head(key) {
      checkStoreKey(key)
      begin('head', key)
      const found = objects.get(key)
      return found ? { bytes: found.length, tag: tagOf(found) } : null
    },
    async list(prefix, startAfter = '') {
      const folder = prefix.slice(0, Math.max(0, prefix.lastIndexOf('/')))
      if (folder !== '') checkStoreKey(folder)
      begin('list', prefix)
      const keys = [...objects.keys()].filter(key => key.startsWith(prefix) && key > startAfter)
      const page = keys.sort((a, b) => (a < b ? -1 : 1)).slice(0, storeListMax)
      return {
        objects: page.map(key => ({ key, bytes: objects.get(key)?.length ?? 0 })),
        more: keys.length > storeListMax,
        nowMs: clock.wallMs(),
      }
    },
    async delete(key) {
      checkStoreKey(key)
      begin('delete', key)
      objects.delete(key)
    },
    failAll: code => {
      broken = code
    },
    failNextPut: (code, key = /./) => void vices.push({ key, act: code }),
    loseNextAnswer: (key = /./) => void vices.push({ key, act: 'lose' }),
    beforeNextPut: (act, key = /./) => void vices.push({ key, act }),
  }
}

function tagOf(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 32)
}
