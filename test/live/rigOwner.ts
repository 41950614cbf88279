import { kafka } from '../../rig/kafka.ts'
import { type RigContext, type Running, type Wanted, want } from '../../rig/part.ts'
import { rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'

/** An owner that dies: `node rigOwner.ts <way> <moment>`. It says the process group of each part, one a line. */
const [way, moment] = process.argv.slice(2)

function die(): Promise<never> {
  if (way === 'SIGKILL') process.kill(process.pid, 'SIGKILL')
  if (way === 'exit') process.exit(0)
  if (way === 'rejection') Promise.reject(new Error('nobody handles this'))
  return new Promise(() => {})
}

const broker = want(kafka, {})
const keeper = want(zookeeper, {})

/** Dies at the moment `spawned`, when the guard has not heard of the process yet, or `starting`, right after that. */
function dying(ctx: RigContext): RigContext {
  const { guard } = ctx
  return {
    ...ctx,
    guard: {
      ...guard,
      async add(group, exited) {
        process.stdout.write(`${group}\n`)
        if (moment === 'spawned') await die()
        await guard.add(group, exited)
        if (moment === 'starting') await die()
      },
    },
  }
}

const watched = <R extends Running<unknown>>(wanted: Wanted<R>): Wanted<R> => ({
  ...wanted,
  start: ctx => wanted.start(dying(ctx)),
})
const set = await rig({ one: watched(broker), two: watched(broker), zk: watched(keeper) })
if (moment === 'paused') await set.parts.one.pause()
await die()
