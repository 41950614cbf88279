import type { TestContext } from 'node:test'
import { type FleetApi, fleetApi, type WorkerSeen } from './api.ts'
import { type FleetFile, type FleetWords, fleetFile } from './file.ts'
import { type RunningTask, startTask } from './tasks.ts'

export type RunningFleet = {
  file: FleetFile
  controllers: RunningTask[]
  workers: RunningTask[]
  /** Of the first controller that is awake. */
  api: FleetApi
  /** Another one; it is among the workers, or the controllers, from then on. */
  join(group: 'controller' | 'worker', file?: string): Promise<RunningTask>
  /** Until so many units are held by so many workers, and nothing is on its way. */
  settled(of: { units: number; workers: number }, withinMs?: number): Promise<WorkerSeen[]>
  /** Ends every process in order. */
  stop(): Promise<void>
}

/** A fleet of processes on one file, each to be killed, stopped and cut off by itself. */
export async function runFleet(
  t: Pick<TestContext, 'after'>,
  how: FleetWords & { controllers?: number; workers: number; flows: Record<string, unknown> },
  signal: AbortSignal,
): Promise<RunningFleet> {
  const { controllers: many = 1, workers: count, flows, ...words } = how
  const file = fleetFile(t, words, flows)
  const start = (group: 'controller' | 'worker', path = file.path) => startTask(group, path, signal)
  const all = async (group: 'controller' | 'worker', n: number) =>
    await Promise.all(Array.from({ length: n }, () => start(group)))
  const [controllers, workers] = await Promise.all([all('controller', many), all('worker', count)])
  const alive = (task: RunningTask) => task.child.exitCode === null && task.child.signalCode === null
  const url = () => {
    const found = controllers.find(task => task.awake())
    if (!found) throw new Error('no controller is awake')
    return found.url
  }
  const api = fleetApi(url, signal)
  return {
    file,
    controllers,
    workers,
    api,
    async join(group, path) {
      const task = await start(group, path)
      const list = group === 'controller' ? controllers : workers
      list.push(task)
      return task
    },
    settled: (of, withinMs) =>
      api.until(
        () => api.workers(),
        seen => isSettled(seen, of),
        withinMs,
      ),
    async stop() {
      await Promise.all(controllers.filter(alive).map(task => task.stop()))
      await Promise.all(workers.filter(alive).map(task => task.stop()))
    },
  }
}

/** So many units are held by so many workers, and nothing is on its way. */
export function isSettled(seen: readonly WorkerSeen[], of: { units: number; workers: number }): boolean {
  const holding = seen.filter(worker => worker.held > 0)
  const held = holding.reduce((sum, worker) => sum + worker.held, 0)
  return held === of.units && holding.length === of.workers && seen.every(({ units, held }) => (units ?? 0) === held)
}
