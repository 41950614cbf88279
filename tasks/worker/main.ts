import { workerMeasures } from '../../engine/fleet/measures.ts'
import { unknownOutcomes } from '../../engine/fleet/unknownOutcomes.ts'
import { startFleetWorker } from '../../engine/fleet/worker.ts'
import { startHealth } from '../../engine/wiring/health.ts'
import { kindEntries } from '../../engine/wiring/kinds.ts'
import { newProcessId, workerTags } from '../../engine/wiring/machine.ts'
import { runTask } from '../../engine/wiring/runTask.ts'
import { startInTime } from '../../engine/wiring/startInTime.ts'
import { tellCoordination } from '../../engine/wiring/tellCoordination.ts'
import { version } from '../../engine/wiring/version.ts'
import { readTaskEnv } from '../config.ts'
import { readyOf } from './ready.ts'

/** A worker (COORDINATION): runs what it is given, and says what it really runs. */
await runTask(
  'worker',
  () => readTaskEnv(),
  async task => {
    const { clock, life, machine, config, opened, settings, coordination, tell } = task
    const id = newProcessId({ task: null, host: machine.host }, machine.chance)
    const { capacity, unitsMax, tags } = config.worker
    let worker: ReturnType<typeof startFleetWorker> | null = null
    const outcomes = unknownOutcomes(coordination.open)
    const health = await startHealth({
      ...(settings.stage === null ? {} : { host: '0.0.0.0', port: 8080 }),
      ready: () => readyOf(worker?.state() ?? null),
      flows: () => worker?.flows() ?? [],
      measures: [...opened.measures, ...workerMeasures(() => worker, outcomes)],
      clock,
    })
    task.log.info('listening', { url: health.url, id })
    task.report({ ev: 'listening', url: health.url, id })
    const place = { zone: 'local', revision: version }
    worker = startFleetWorker({
      identity: {
        id,
        address: health.url,
        capacity,
        revision: version,
        software: version,
        tags: workerTags(tags, place),
        task: id,
        unitsMax,
      },
      ...{ ...coordination, open: outcomes.open },
      kinds: kindEntries,
      kafka: opened.kafka,
      codec: machine.codec,
      crc: machine.crc,
      clock,
      uptimeMs: machine.uptimeMs,
      chance: machine.chance,
      stop: life.stop,
      abort: life.abort,
      tell,
    })
    const silent = tellCoordination(() => worker?.state().trouble ?? null, task)
    try {
      await startInTime(worker.done, worker.state, { clock, withinMs: coordination.startTimeoutMs })
    } finally {
      silent()
      await health.close()
    }
  },
)
