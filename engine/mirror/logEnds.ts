import { unitName } from '../flow/unitName.ts'
import type { ClusterAdmin, Part } from '../ports/kafka.ts'

type Found = ReadonlyMap<string, { offset: bigint | null; code: number }>
export type LogEnds = { starts: Found; stables: Found; ends: Found; times: Found }

/** Where the logs of these partitions begin and end, by unit, and where a time is: a few requests for all of them. */
export async function logEnds(admin: ClusterAdmin, parts: readonly Part[], timeMs: number | null): Promise<LogEnds> {
  const asked = parts.map(({ topic, partition }) => ({ topic, partition }))
  const ask = async (at: Parameters<ClusterAdmin['offsets']>[1]): Promise<Found> =>
    new Map((asked.length === 0 ? [] : await admin.offsets(asked, at)).map(one => [unitName(one), one]))
  const [starts, stables, ends, times] = await Promise.all([
    ask('start'),
    ask('stable'),
    ask('end'),
    timeMs === null ? new Map() : ask({ timeMs }),
  ])
  return { starts, stables, ends, times }
}
