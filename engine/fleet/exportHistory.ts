import type { ObjectStore } from '../ports/store.ts'

const prefix = 'fleet/history/'

/**
 * Former exports as `fleet/history/state-<atMs>-<epoch>.json`, the newest `max` of them (C-104); 0: none, the store
 * keeps versions by itself. What else lies there is left alone.
 */
export async function keepFormer(
  store: ObjectStore,
  former: { text: string; atMs: number; epoch: number },
  max: number,
): Promise<void> {
  if (max === 0) return
  const found = await formerIn(store)
  // The oldest goes first: on a full disk it makes the room.
  for (const key of found.slice(0, Math.max(0, found.length - (max - 1)))) await store.delete(key)
  const key = `${prefix}state-${former.atMs}-${former.epoch}.json`
  await store.put(key, Buffer.from(former.text), { ifNoneMatch: '*' })
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
