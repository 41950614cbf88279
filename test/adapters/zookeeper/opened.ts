import { openZookeeper, type ZookeeperOptions } from '../../../engine/adapters/zookeeper/openZookeeper.ts'
import type { Clock } from '../../../engine/ports/clock.ts'
import { phaseOf } from '../../contracts/phaseOf.ts'
import { type ManualClock, manualClock } from '../../fakes/clock.ts'
import { type Script, type ScriptedServer, scriptedServer } from './scriptedServer.ts'

export type Opened = {
  clock: ManualClock
  server: ScriptedServer
  one: ReturnType<typeof openZookeeper>
  connected(): Promise<void>
}

/** One session with a scripted server; time stands still until it is told to go on. Both are ended in any case. */
export async function withServer(
  script: Script,
  work: (opened: Opened) => Promise<void>,
  more: Partial<ZookeeperOptions> = {},
): Promise<void> {
  const server = await scriptedServer(script)
  const clock = manualClock()
  const one = openZookeeper({
    connect: `127.0.0.1:${server.port}${more.auth ? '/fleet' : ''}`,
    sessionMs: 4_000,
    auth: null,
    clock: withTurns(clock),
    // No wait before a dial.
    chance: () => 0,
    ...more,
  })
  try {
    await work({ clock, server, one, connected: () => phaseOf(one, 'connected') })
  } finally {
    const closed = one.close()
    await turns(5)
    await clock.advance(2_000)
    await closed
    await server.close()
  }
}

/** What is to be done at once is done in the next turn, though time stands still. */
export function withTurns(clock: Clock): Clock {
  return {
    ...clock,
    after(ms, then) {
      if (ms > 0) return clock.after(ms, then)
      const turn = setImmediate(then)
      return () => clearImmediate(turn)
    },
  }
}

/** Lets sockets say what they have to say. */
export async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise(resolve => setImmediate(resolve))
}
