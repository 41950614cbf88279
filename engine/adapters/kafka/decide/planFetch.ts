import type { FetchQuestion } from '../frames/fetch.ts'

export type FetchPlace = {
  topic: string
  topicId: string
  partition: number
  leaderEpoch: number
  offset: bigint
  lastFetchedEpoch: number
  /** Standing, in back-off: left out. `full`: over its window, left out until it is drained. */
  state: 'ready' | 'standing' | 'full'
}

export type FetchSizes = {
  bytesMax: number
  partitionBytesMax: number
  bytesMin: number
  waitMaxMs: number
  fullWaitMs: number
}

/**
 * The next question to a broker, or null (W-40). `turn` rotates the order by one a request, for the broker fills in
 * request order. `mayFetch` false: a socket waits for memory. When some partition is only over its window the broker
 * is asked to answer soon: the window may open long before a quiet partition has news.
 */
export function planFetch(
  places: readonly FetchPlace[],
  how: { mayFetch: boolean; turn: number; isolation: 0 | 1; rack: string; sizes: FetchSizes },
): FetchQuestion | null {
  if (!how.mayFetch) return null
  const topics: FetchQuestion['topics'] = []
  let full = false
  let last: FetchQuestion['topics'][number] | undefined
  for (let i = 0; i < places.length; i++) {
    const place = places[(i + how.turn) % places.length] as FetchPlace
    if (place.state !== 'ready') {
      if (place.state === 'full') full = true
      continue
    }
    if (!last || last.topic !== place.topic || last.topicId !== place.topicId) {
      last = { topic: place.topic, topicId: place.topicId, partitions: [] }
      topics.push(last)
    }
    last.partitions.push({
      partition: place.partition,
      leaderEpoch: place.leaderEpoch,
      offset: place.offset,
      lastFetchedEpoch: place.lastFetchedEpoch,
      maxBytes: how.sizes.partitionBytesMax,
    })
  }
  if (topics.length === 0) return null
  return {
    maxWaitMs: full ? how.sizes.fullWaitMs : how.sizes.waitMaxMs,
    minBytes: how.sizes.bytesMin,
    maxBytes: how.sizes.bytesMax,
    isolation: how.isolation,
    rack: how.rack,
    topics,
  }
}
