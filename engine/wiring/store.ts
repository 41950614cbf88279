import { fileStore } from '../adapters/local/fileStore.ts'
import { type Exports, stateExports } from '../fleet/exports.ts'
import type { StorePlace } from '../flow/storeUri.ts'
import type { Clock } from '../ports/clock.ts'
import type { Machine } from './machine.ts'

/** Where what people wish is kept beside ZooKeeper, or instead of it (C-66, C-104); null: the file names no store. */
export function openExports(
  place: StorePlace | null,
  { clock, machine }: { clock: Clock; machine: Machine },
): Exports | null {
  if (place === null) return null
  const store = fileStore(place.path, { clock, chance: machine.chance })
  return stateExports(store, { clock, keepsVersions: false })
}
