import { memoryCoordinator } from '../engine/adapters/memory/coordinator.ts'
import { memoryTree } from '../engine/adapters/memory/tree.ts'
import { type Fault, faultOf } from '../engine/errors.ts'
import { type FlowEvents, flowEvents } from '../engine/fleet/flowEvents.ts'
import { noCoordinator } from '../engine/fleet/noCoordinator.ts'
import { remembering } from '../engine/fleet/remembered.ts'
import { type SoloDocuments, startSoloDocuments } from '../engine/fleet/soloDocuments.ts'
import { type SoloKnown, soloKnown } from '../engine/fleet/soloKnown.ts'
import { takeSoloOffice } from '../engine/fleet/soloOffice.ts'
import { sessionTimeoutMs } from '../engine/limits.ts'
import type { Coordinator } from '../engine/ports/coordinator.ts'
import type { Config } from '../engine/process/config.ts'
import { watchConfig } from '../engine/process/configFile.ts'
import { blocksChanged } from '../engine/wiring/blocksInUse.ts'
import { clustersOf } from '../engine/wiring/clusters.ts'
import { clustersInUse } from '../engine/wiring/clustersInUse.ts'
import { declaredFlows } from '../engine/wiring/declaredFlows.ts'
import { startFlowsApi } from '../engine/wiring/flowsApi.ts'
import { metricsOf } from '../engine/wiring/health.ts'
import { kindEntries, readFlows } from '../engine/wiring/kinds.ts'
import { type Machine, newProcessId, thisMachine } from '../engine/wiring/machine.ts'
import { openExports } from '../engine/wiring/store.ts'
import { version } from '../engine/wiring/version.ts'
import { faultLine } from './configLines.ts'
import { readiness } from './readiness.ts'
import { type Around, type FlowsCommand, type OpenedAll, runFlows, type Start } from './runFlows.ts'

/** The file that is run. */
type Run = { file: string; text: string; config: Config; json: boolean }

type State = {
  readonly run: Run
  readonly machine: Machine
  readonly id: string
  readonly events: FlowEvents
  /** The file as it was taken last. */
  config: Config
  /** Null: nothing runs yet. */
  running: { coordinator: Coordinator; known: SoloKnown; documents: SoloDocuments; url: string } | null
  /** What the start waits for. */
  trouble: Fault | null
}

/** All flows of a file, and those that people make, in one process that answers as a fleet does (C-66, C-96). */
export async function runSolo(run: Run): Promise<number> {
  const { config, file, json } = run
  const machine = thisMachine()
  const id = newProcessId({ task: null, host: machine.host }, machine.chance)
  const events = flowEvents()
  const state: State = { run, machine, id, events, config, running: null, trouble: null }
  return await runFlows({
    ...{ svc: 'run', json, untilEnd: false, strict: false },
    clusters: clustersOf(config, file),
    memoryBytesMax: config.worker.memoryBytesMax,
    heard: events.note,
    serve: (flows, opened, around) => serve(state, flows, opened, around),
    begin: (opened, around, start) => begin(state, opened, around, start),
  })
}

/** The API, on the address of the file (DESIGN §8). Until it is known what people have changed it says nothing of it. */
function serve(
  state: State,
  flows: Parameters<NonNullable<FlowsCommand['serve']>>[0],
  { kafka, measures }: OpenedAll,
  around: Around,
): ReturnType<typeof startFlowsApi> {
  const { run, machine, id } = state
  const starting = { code: 'no-leader' as const, message: 'this process is just starting', hint: 'ask again soon' }
  const none = noCoordinator(() => state.trouble ?? starting)
  return startFlowsApi({
    ...around,
    ...{ machine, settings: run.config.api, file: run.file, stage: null, mode: 'solo', kafka },
    keepsChanges: run.config.store !== null,
    coordinator: () => state.running?.coordinator ?? none,
    leader() {
      if (state.running === null) return null
      const { known, url } = state.running
      return { id, epoch: known.epoch, url, here: true }
    },
    known: () => state.running?.known ?? null,
    events: state.events.of,
    nudge: () => state.running?.documents.nudge(),
    ready() {
      const { trouble, running } = state
      if (trouble) return { ready: false, why: `${trouble.code}: ${trouble.message}` }
      return running ? readiness(flows()) : { ready: false, why: 'starting' }
    },
    metrics: metricsOf({ flows, measures, clock: around.clock }),
    clusters: () => [...state.config.clusters.keys()],
  })
}

async function begin(
  state: State,
  opened: OpenedAll,
  around: Parameters<FlowsCommand['begin']>[1],
  start: Start,
): ReturnType<FlowsCommand['begin']> {
  const { run, machine, id } = state
  const { clock, life, tell, url } = around
  const { stop } = life
  const startedAtMs = clock.wallMs()
  const memory = memoryCoordinator(memoryTree(), { session: id, timeoutMs: sessionTimeoutMs })
  const exports = openExports(run.config.store, { clock, machine })
  const coordinator = exports ? remembering(memory, exports) : memory
  const { chance } = machine
  const trouble = (fault: Fault | null) => {
    if (fault && fault.message !== state.trouble?.message) tell(null, fault)
    state.trouble = fault
  }
  const epoch = await takeSoloOffice({ coordinator, id, clock, chance, stop, trouble })
  if (epoch === null) return null
  let documents: SoloDocuments | null = null
  const solo = start(new Map(), { epoch, over: () => documents?.nudge() })
  const { capacity, tags, unitsMax } = run.config.worker
  documents = startSoloDocuments({
    ...{ coordinator, kinds: kindEntries, tags, solo, clock, chance, stop, tell },
    fatal(error) {
      // Told and ended as every other bug is (DESIGN §9).
      queueMicrotask(() => {
        throw error
      })
    },
  })
  await documents.declare(declaredFlows(run.config), () => {})
  const place = { address: url, revision: version, software: version, task: id, leaseMs: sessionTimeoutMs }
  const record = { ...place, id, capacity, startedAtMs, state: 'ready' as const, tags, unitsMax }
  const known = soloKnown({ epoch, record, solo, documents, clock })
  state.running = { coordinator, known, documents, url }
  const watching = watchFile(state, documents, opened, around)
  return { solo, end: watching.close }
}

/** An edit is taken as a whole or not at all, and is told either way (DESIGN §4). */
function watchFile(
  state: State,
  documents: SoloDocuments,
  opened: OpenedAll,
  { clock, log, tell }: Around,
): { close(): void } {
  const { file, text, config: first } = state.run
  const inUse = clustersInUse(first)

  /** What stands against it, when something does. */
  async function take(config: Config): Promise<string[]> {
    const faults = [...inUse.changed(config), ...blocksChanged(first, config, ['coordination'])]
    if (faults.length > 0) return faults
    const { refused, written } = await documents.declare(declaredFlows(config), () => {
      opened.add(clustersOf(config, file))
      inUse.add(config)
      state.config = config
    })
    await written
    return refused.map(({ flow, fault }) => `flows.${flow}.${fault.message}`)
  }

  async function onChange(changed: string): Promise<void> {
    const next = readFlows(changed, 'one')
    const faults = next.ok ? await take(next.config) : next.faults.map(fault => faultLine(file, fault).trimEnd())
    if (!next.ok || faults.length > 0) {
      const message = `${file}: the change is not taken, what ran before runs on: ${faults.join('; ')}`
      return tell(null, { code: 'config-invalid', message })
    }
    for (const { path, line, hint } of next.warnings) log.warn(`${path}: ${hint}`, { file, line })
    log.info('the configuration was read again', { file })
  }

  return watchConfig(file, {
    ...{ text, clock },
    onChange: changed => void onChange(changed),
    onFault: fault => tell(null, faultOf(fault, fault.code)),
  })
}
