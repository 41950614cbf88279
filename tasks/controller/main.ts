import { type Controller, startController } from '../../engine/fleet/controller.ts'
import { flowEvents } from '../../engine/fleet/flowEvents.ts'
import { watchLeader } from '../../engine/fleet/leaderSeen.ts'
import { controllerMeasures } from '../../engine/fleet/measures.ts'
import { noCoordinator } from '../../engine/fleet/noCoordinator.ts'
import { watchStandbyFile } from '../../engine/fleet/standbyFile.ts'
import { unknownOutcomes } from '../../engine/fleet/unknownOutcomes.ts'
import { declaredFlows } from '../../engine/wiring/declaredFlows.ts'
import { startFlowsApi } from '../../engine/wiring/flowsApi.ts'
import { metricsOf } from '../../engine/wiring/health.ts'
import { kindEntries } from '../../engine/wiring/kinds.ts'
import { newProcessId } from '../../engine/wiring/machine.ts'
import { runTask } from '../../engine/wiring/runTask.ts'
import { startInTime } from '../../engine/wiring/startInTime.ts'
import { openExports } from '../../engine/wiring/store.ts'
import { tellCoordination } from '../../engine/wiring/tellCoordination.ts'
import { version } from '../../engine/wiring/version.ts'
import { readTaskEnv } from '../config.ts'
import { readyOf } from './ready.ts'
import { tellLeader } from './tellLeader.ts'

/** A controller (COORDINATION): one leads, and any of them answers. */
await runTask(
  'controller',
  () => readTaskEnv(),
  async task => {
    const { clock, life, machine, opened, settings, coordination, tell } = task
    const id = newProcessId({ task: null, host: machine.host }, machine.chance)
    const exports = openExports(task.config.store, { clock, machine })
    let config = task.config
    const declared = () => declaredFlows(config)
    const events = flowEvents()
    const listeners = new Set<() => void>()
    task.onConfig(next => {
      config = next
      for (const listener of listeners) listener()
    })
    let controller: Controller | null = null
    const outcomes = unknownOutcomes(coordination.open)
    const measures = [...opened.measures, ...controllerMeasures(() => controller, clock, outcomes)]
    const none = noCoordinator()
    const coordinator = () => controller?.coordinator() ?? none
    const leader = watchLeader({ coordinator, clock })
    const api = await startFlowsApi({
      ...task,
      settings: config.api,
      file: settings.file,
      stage: settings.stage,
      mode: 'fleet',
      coordinator,
      leader: () => {
        const seen = leader.now()
        return seen && { ...seen, here: seen.id === id }
      },
      known: () => controller?.known() ?? null,
      events: events.of,
      nudge: () => controller?.nudge(),
      ready: () => readyOf(controller?.state() ?? null, coordinator().state()),
      metrics: metricsOf({ flows: () => [], measures, clock }),
      keepsChanges: true,
      clusters: () => [...config.clusters.keys()],
      kafka: opened.kafka,
    })
    task.log.info('listening', { url: api.url, id })
    task.report({ ev: 'listening', url: api.url, id })
    controller = startController({
      identity: { id, url: api.url, software: version },
      ...{ ...coordination, open: outcomes.open },
      kinds: kindEntries,
      declared,
      onDeclared(listener, signal) {
        listeners.add(listener)
        signal.addEventListener('abort', () => listeners.delete(listener), { once: true })
      },
      exports,
      // After what is being written, which may be the last of an office before.
      store: exports && { epoch: async () => (await exports.inTurn(exports.read))?.epoch ?? null },
      kafka: opened.kafka,
      codec: machine.codec,
      crc: machine.crc,
      clock,
      uptimeMs: machine.uptimeMs,
      chance: machine.chance,
      stop: life.stop,
      abort: life.abort,
      tell(flow, event) {
        if (flow !== null) events.note(flow, event, clock.wallMs())
        tell(flow, event)
      },
      reported: events.reported,
    })
    const leading = () => controller?.state().leading ?? null
    const ends = [
      tellLeader({ id, leading, seen: leader.now }, task),
      tellCoordination(() => controller?.state().trouble ?? null, task),
      watchStandbyFile({ coordinator, declared, leads: () => leading() !== null, clock, tell }),
    ]
    try {
      await startInTime(controller.done, controller.state, { clock, withinMs: coordination.startTimeoutMs })
    } finally {
      for (const end of ends) end()
      leader.close()
      await api.close()
    }
  },
)
