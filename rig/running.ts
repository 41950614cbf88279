import { setTimeout as sleep } from 'node:timers/promises'
import type { Child } from './child.ts'
import { RigError } from './errors.ts'
import { askAgainMs } from './limits.ts'
import type { RigContext, Running } from './part.ts'

export type Readiness = {
  limitMs: number
  /** One request: null when the answer is enough, else what was answered. A rejection counts as an answer. */
  ask(): Promise<string | null>
}

/**
 * Line and request. Rejects with the child's own end (`rig-start`, `rig-port`) or with `rig-ready-timeout`;
 * the child is ended then.
 */
export async function untilReady(child: Child, name: string, readiness: Readiness): Promise<void> {
  const late = Promise.withResolvers<never>()
  late.promise.catch(() => {})
  const ended = child.exited.then(async (): Promise<never> => {
    // After the line `ready` has resolved and holds no error: the process died between line and answer.
    await child.ready
    throw new RigError('rig-start', `${name} ended between its line and its first answer`, more())
  })
  ended.catch(() => {})
  const more = () => ({ part: name, log: child.log, lines: child.tail() })
  let seen = 'its line was not seen'
  const timer = setTimeout(() => {
    late.reject(new RigError('rig-ready-timeout', `${name} not ready after ${readiness.limitMs} ms: ${seen}`, more()))
  }, readiness.limitMs)
  const asked = async () => {
    await child.ready
    for (;;) {
      const answer = await readiness.ask().catch((error: unknown) => String(error))
      if (answer === null) return
      seen = `its line was seen, the last answer was: ${answer}`
      await sleep(askAgainMs)
      if (child.asked) throw new RigError('rig-start', `${name} was ended before it was ready`, more())
    }
  }
  try {
    await Promise.race([asked(), late.promise, ended])
  } catch (error) {
    await child.kill()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/**
 * A part that is one process. `launch` starts it and resolves when it is ready (`untilReady`); it is called again by
 * `restart()`, with the same ports and the same data. An end that nobody asked for goes to `ctx.died`.
 */
export async function runningProcess<A>(
  ctx: Pick<RigContext, 'died'>,
  name: string,
  address: A,
  launch: () => Promise<Child>,
): Promise<Running<A>> {
  const watched = async () => {
    const child = await launch()
    child.exited.then(exit => {
      if (child.asked) return
      const how = exit.signal === null ? `exit ${exit.code}` : exit.signal
      const more = { part: name, log: child.log, lines: child.tail() }
      ctx.died(new RigError('rig-died', `${name} ended by itself (${how})`, more))
    })
    return child
  }
  let child = await watched()
  let alive = true
  const follow = (present: Child) =>
    void present.exited.then(() => {
      if (present === child) alive = false
    })
  follow(child)
  return {
    name,
    address,
    log: child.log,
    get pids() {
      return alive ? [child.pid] : []
    },
    get exited() {
      return child.exited
    },
    stop: () => child.stop(),
    kill: () => child.kill(),
    pause: () => child.pause(),
    resume: () => child.resume(),
    async restart() {
      await child.kill()
      child = await watched()
      alive = true
      follow(child)
    },
  }
}

/** Several processes that are one part: an order goes to all of them, and `exited` is the first end among them. */
export function runningGroup<A>(name: string, address: A, members: Running<unknown>[]): Running<A> {
  const all = async (order: (member: Running<unknown>) => Promise<void>) => {
    await Promise.all(members.map(order))
  }
  return {
    name,
    address,
    log: members[0]?.log ?? '',
    get pids() {
      return members.flatMap(member => member.pids)
    },
    get exited() {
      return Promise.race(members.map(member => member.exited))
    },
    stop: () => all(member => member.stop()),
    kill: () => all(member => member.kill()),
    pause: () => all(member => member.pause()),
    resume: () => {
      for (const member of members) member.resume()
    },
    restart: async () => {
      // All are down before one comes up: a member that is restarted alone would find the old quorum.
      await all(member => member.kill())
      await all(member => member.restart())
    },
  }
}
