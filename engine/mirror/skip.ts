import type { WorkerContext } from '../flow/contract.ts'
import { unitName } from '../flow/unitName.ts'
import { restart } from '../flow/window.ts'
import type { Unit } from './run.ts'

/**
 * Somebody has said that records may be left out (M-94). A level: the unit obeys only while it fails at just that
 * offset, so that a skip that was meant for another fault loses nothing.
 */
export function skipper(ctx: WorkerContext): (unit: Unit) => void {
  const told = new Set<string>()
  return unit => {
    const name = unitName(unit.part)
    const skip = ctx.overlay().skips.get(name)
    if (!skip || unit.fault === null) return
    const { offset: failing } = unit.fault
    const { topic, partition } = unit.part
    const to = skip.offset + BigInt(skip.records)
    // Obeyed before: it stands beyond.
    if (failing >= to) return
    if (failing !== skip.offset) {
      const said = `${name} ${skip.offset} ${failing}`
      if (told.has(said)) return
      told.add(said)
      const message = `${name}: a skip from offset ${skip.offset} is not obeyed: it fails at ${failing}`
      const asked = `millrace skip ${ctx.flow}/${name} --offset ${failing} --records 1`
      const hint = `when that record may be lost: ${asked}, or skips: {${topic}: {${partition}: [${failing}, 1]}} in the file`
      return ctx.tell({ code: 'conflict', message, hint, topic, partition, offset: failing })
    }
    // Beyond the end of the log there is nothing to leave out: a position there would be taken for a cut log.
    const { end } = unit.counts
    const at = end !== null && end > failing && end < to ? end : to
    // What is before it was not read, so the source is asked for no epoch.
    restart(unit.window, { offset: at, epoch: -1 })
    unit.counts.skippedOperator += Number(at - failing)
    unit.fault = null
    const message = `${name}: offsets ${failing} to ${at - 1n} are left out, as somebody has said`
    ctx.tell({ code: 'skipped', message, topic, partition, from: failing, to: at })
  }
}
