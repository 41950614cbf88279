import { stateHistoryMax } from '../limits.ts'
import type { ObjectStore } from '../ports/store.ts'

const prefix = 'fleet/history/'

/**
 * Keeps an export that is about to be replaced, as `fleet/history/state-<atMs>-<epoch>.json`, and the newest of those
 * before it (C-104). What else lies there is left alone.
 */
export async function keepFormer(
  store: ObjectStore,
  text: string,
  { atMs, epoch }: { atMs: number; epoch: number },
): Promise<void> {
  const found = await formerIn(store)
  // The oldest goes first: on a full disk it makes the room.
  for (const key of found.slice(0, Math.max(0, found.length - (stateHistoryMax - 1)))) await store.delete(key)
  await store.put(`${prefix}state-${atMs}-${epoch}.json`, Buffer.from(text), { ifNoneMatch: '*' })
}

/** Oldest first. */
async function formerIn(store: ObjectStore): Promise<string[]> {
  const found: { key: string; atMs: number }[] = []
  for (let after = ''; ; ) {
    const { objects, more } = await store.list(prefix, after)
    for (const { key } of objects) {
      const atMs = /^state-(\d+)-\d+\.json$/.exec(key.slice(prefix.length))?.[1]
      if (atMs !== undefined) found.push({ key, atMs: Number(atMs) })
    }
    after = objects.at(-1)?.key ?? after
    if (!more) return found.sort((a, b) => a.atMs - b.atMs).map(one => one.key)
  }
}
