/**
 * What we need of a place that keeps whole objects under keys (DESIGN §6): a bucket, or a folder. An object is there
 * as a whole or not at all, and what was answered survives the end of any process and of the machine. Which keys are
 * legal is in `flow/storeKey.ts`; another one is `config-invalid`.
 */
export interface ObjectStore {
  /** Replaces what is there, or under a condition does not. A tag for a key that is gone is `changed` too. */
  put(key: string, body: Uint8Array, only?: Only): Promise<Put>
  /** Null: not there. Of a range what there is of it, also nothing; `bytes` and `tag` are of the whole object. */
  get(key: string, range?: Range): Promise<Got | null>
  head(key: string): Promise<Head | null>
  /** The next keys after `startAfter` that begin with `prefix`, ascending by code unit. */
  list(prefix: string, startAfter?: string): Promise<Listed>
  /** What is not there is deleted already. */
  delete(key: string): Promise<void>
}

export type Only = { ifNoneMatch: '*' } | { ifMatch: string }
export type Put = { done: true; tag: string } | { done: false; why: 'exists' | 'changed' }
export type Range = { from: number; bytes: number }
/** `tag`: of this content and no other; the same content again may have the same. */
export type Head = { bytes: number; tag: string }
export type Got = Head & { body: Buffer }
export type Listed = {
  objects: { key: string; bytes: number }[]
  /** There are more: ask again after the last of these. */
  more: boolean
  /** The store's own time, the one clock that all its users share (LOGS L-71). */
  nowMs: number
}

/*
 * Faults reject with a MillraceError: `store-away` (retryable), `store-full` (retryable), `store-denied`. After a
 * `store-away` of a put or a delete it may be done or not: read before it is repeated.
 */
