import type { Codec } from '../batch/codec.ts'
import type { Crc } from '../batch/crc.ts'
import { faultOf, MillraceError } from '../errors.ts'
import type { FlowEvent } from '../flow/event.ts'
import type { Chance, Clock } from '../ports/clock.ts'
import type { Coordinator, OpenCoordinator } from '../ports/coordinator.ts'
import type { KafkaCluster } from '../ports/kafka.ts'
import type { DeclaredFlow } from './decide/declared.ts'
import { paths } from './decide/documents/paths.ts'
import { wishedOf } from './decide/export.ts'
import type { Memory } from './decide/memory.ts'
import type { Notice } from './decide/reconcile.ts'
import type { Exports } from './exports.ts'
import { flowUpkeep } from './flowUpkeep.ts'
import { type Handovers, handovers } from './handovers.ts'
import type { Kinds } from './kinds.ts'
import { type Known, knownOf } from './known.ts'
import { leaderFlows } from './leaderFlows.ts'
import { type Candidacy, startCandidacy } from './leadership.ts'
import { noCoordinator } from './noCoordinator.ts'
import { noticeEvent } from './noticeEvent.ts'
import type { Office } from './office.ts'
import { type LoopCounts, type LoopFlows, type ReconcileLoop, startReconcileLoop } from './reconcileLoop.ts'
import { type Timings, timings } from './timings.ts'

export type ControllerHow = {
  identity: { id: string; url: string | null; software: string }
  open: OpenCoordinator
  sessionMs: number
  kinds: Kinds
  /** The flows of this process's file (C-67). */
  declared(): ReadonlyMap<string, DeclaredFlow>
  onDeclared(listener: () => void, signal: AbortSignal): void
  /** Where what people wish is kept besides (C-104); null: nowhere. */
  exports: Exports | null
  /** What the store knows of epochs (C-21); null: no store. */
  store: { epoch(): Promise<number | null> } | null
  kafka(cluster: string): KafkaCluster
  codec: Codec
  crc: Crc
  clock: Clock
  uptimeMs(): number
  chance: Chance
  stop: AbortSignal
  /** Wait no longer. */
  abort: AbortSignal
  tell(flow: string | null, event: FlowEvent): void
  /** What workers report, as each round of this leader has read it. */
  reported?(workers: Memory['workers']): void
}

export type ControllerCounts = {
  deposed: number
  ejections: number
  /** By reason. */
  moves: ReadonlyMap<string, number>
  handovers: Pick<Handovers, 'taken' | 'first'>
  /** Of its rounds. */
  plans: Timings
}

export type Controller = {
  /** After the stop; rejects with what no waiting mends. */
  readonly done: Promise<void>
  /** The session in use; while there is none, one that answers nothing. */
  coordinator(): Coordinator
  state(): ReturnType<Candidacy['state']> & { counts: ControllerCounts; loop: LoopCounts | null }
  leaseLowMs: Candidacy['leaseLowMs']
  /** Only while it leads. */
  known(): Known | null
  /** Something was written: look now. */
  nudge(): void
}

type Leading = { loop: ReconcileLoop; known: Known }
type Counts = ControllerCounts & { moves: Map<string, number>; handovers: Handovers }

/** A process that queues for the office, and leads the fleet while it has it (COORDINATION §2, §4). */
export function startController(how: ControllerHow): Controller {
  let leading: Leading | null = null
  const counts: Counts = { deposed: 0, ejections: 0, moves: new Map(), handovers: handovers(), plans: timings() }
  const { identity, open, sessionMs, clock, uptimeMs, chance, store, stop } = how
  const candidacy = startCandidacy({
    ...{ identity, open, sessionMs, clock, uptimeMs, chance, store, stop },
    tell: event => how.tell(null, event),
    async lead(office) {
      try {
        await lead(how, office, counts, now => {
          leading = now
        })
      } finally {
        leading = null
        counts.handovers.forget()
        if (!stop.aborted) counts.deposed++
      }
    },
  })
  const none = noCoordinator()
  return {
    done: candidacy.done,
    coordinator: () => candidacy.coordinator() ?? none,
    state: () => ({ ...candidacy.state(), counts, loop: leading?.loop.counts ?? null }),
    leaseLowMs: candidacy.leaseLowMs,
    known: () => leading?.known ?? null,
    nudge: () => leading?.loop.nudge(),
  }
}

/** Until the office is over, or it has to be taken anew (C-21). */
async function lead(
  how: ControllerHow,
  held: Office,
  counts: Counts,
  leads: (leading: Leading) => void,
): Promise<void> {
  const over = new AbortController()
  const office: Office = {
    ...held,
    signal: AbortSignal.any([held.signal, over.signal]),
    mayWrite: () => !over.signal.aborted && held.mayWrite(),
  }
  const { promise: broken, reject: fatal } = Promise.withResolvers<never>()
  broken.catch(() => {})
  const { kinds, kafka, codec, crc, clock, chance } = how
  const flows = leaderFlows({
    ...{ office, kinds, tell: how.tell, fatal },
    context: { kafka, codec, crc, clock, chance, untilEnd: false },
    hint: () => loop.nudge(),
  })
  const keeping = upkeep(how, office, flows, fatal)
  const loop = startReconcileLoop({
    ...{ office, clock, flows: keeping.flows },
    notice: notice => noticed(how, counts, notice),
    tell: event => how.tell(null, event),
    thought(found, ms) {
      counts.plans.note(ms)
      counts.handovers.round(found, clock.nowMs())
      how.reported?.(found.memory.workers)
    },
    settled: observation => keeping.settled(observation.wishes().text),
  })
  how.onDeclared(loop.nudge, office.signal)
  leads({ loop, known: knownOf({ office, clock, flows, loop }) })
  try {
    await Promise.race([loop.done, broken, keeping.deposed])
  } finally {
    over.abort()
    // What is under way is cut by the signal; it may not go on beside the next office (C-93).
    await Promise.all([...flows.flows().values()].map(flow => flow.idle()))
  }
}

function noticed({ tell, clock }: ControllerHow, counts: Counts, notice: Notice): void {
  if (notice.code === 'units-moved') {
    counts.moves.set(notice.reason, (counts.moves.get(notice.reason) ?? 0) + notice.units.length)
    counts.handovers.moved(notice, clock.nowMs())
  }
  if (notice.code === 'worker-ejected') counts.ejections++
  const event = noticeEvent(notice, clock.nowMs())
  if (event) tell(null, event)
}

type Keeping = {
  flows: LoopFlows
  /** After a round: chores may begin, and the export is written when something has changed. */
  settled(wishes: string | null): void
  /** A store in which a higher epoch has written. */
  deposed: Promise<void>
}

/** What the leader writes besides assignments: `/flows`, and the export (C-67, C-104). */
function upkeep(
  how: ControllerHow,
  office: Office,
  flows: ReturnType<typeof leaderFlows>,
  fatal: (error: unknown) => void,
): Keeping {
  const { clock, kinds, declared, tell } = how
  const keeper = flowUpkeep({ office, kinds, clock, flows, declared, tell })
  const exporter = exporterOf(how, office, flows, fatal)
  let begun = false
  return {
    flows: {
      ...flows,
      async read(all) {
        await flows.read(all)
        await keeper.look()
        await flows.read(false)
      },
    },
    settled(wishes) {
      if (!begun) flows.begin()
      begun = true
      exporter.look(wishes)
    },
    deposed: exporter.deposed,
  }
}

/** At most one write at a time; what cannot be written is tried again with the next round (C-104). */
function exporterOf(
  { exports, tell }: ControllerHow,
  office: Office,
  flows: ReturnType<typeof leaderFlows>,
  fatal: (error: unknown) => void,
): { look(wishes: string | null): void; deposed: Promise<void> } {
  const { promise: deposed, resolve } = Promise.withResolvers<void>()
  let busy = false
  let said = ''
  let isAside = !office.first

  async function write(wishes: string | null): Promise<void> {
    if (exports === null) return
    const documents = new Map([...flows.documents()].map(([name, { text }]) => [paths.flow(name), text]))
    if (wishes !== null) documents.set(paths.wishes, wishes)
    const logging = await office.coordinator.read(paths.logging)
    if (logging) documents.set(paths.logging, logging.data)
    if (!office.mayWrite()) return
    await exports.inTurn(async () => {
      // What was wished before the documents were wiped is not written over.
      const stored = isAside ? null : await exports.read()
      if (stored) await exports.putAside(stored.epoch)
      isAside = true
      await exports.write(wishedOf(documents, office.epoch))
    })
    said = ''
  }

  return {
    look(wishes) {
      if (busy || exports === null) return
      busy = true
      void write(wishes)
        .catch((error: unknown) => {
          if (!(error instanceof MillraceError)) return fatal(error)
          if (error.code === 'deposed') return resolve()
          if (said !== error.message && !office.signal.aborted) tell(null, faultOf(error, error.code))
          said = error.message
        })
        .finally(() => {
          busy = false
        })
    },
    deposed,
  }
}
