import { MillraceError } from '../errors.ts'

/** Units that somebody writes under, who is not the flow itself: people set their offsets (C-95, M-94). */
export type Reserved = {
  units(): ReadonlySet<string>
  /** Does the work while none of these is given. Rejects with `conflict` when one is not free. */
  during<T>(units: ReadonlySet<string>, work: () => Promise<T>): Promise<T>
}

/** `taken`: units that are not free. `changed`: what was reserved is free again. */
export function reservedUnits(how: { flow: string; taken(): Iterable<string>; changed(): void }): Reserved {
  let reserved: ReadonlySet<string> = new Set()
  return {
    units: () => reserved,
    async during(units, work) {
      const owned = new Set([...how.taken(), ...reserved])
      const taken = [...units].find(unit => owned.has(unit))
      if (taken !== undefined) {
        const message = `${how.flow}/${taken} is not free: a worker may still run it, or an action of the flow`
        throw new MillraceError('conflict', message, { hint: 'pause it, and wait until nobody holds it' })
      }
      reserved = new Set([...reserved, ...units])
      try {
        return await work()
      } finally {
        reserved = new Set([...reserved].filter(unit => !units.has(unit)))
        how.changed()
      }
    },
  }
}
