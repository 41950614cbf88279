import { kafka } from '../../rig/kafka.ts'
import type { RigContext, Wanted } from '../../rig/part.ts'
import { want } from '../../rig/part.ts'
import { type RigSet, rig, type Wishes } from '../../rig/set.ts'

/** An owner that dies: `node rigOwner.ts <way> <moment>`. It says the process group of each part, one a line. */
const [way, moment] = process.argv.slice(2)

function die(): Promise<never> {
  if (way === 'SIGKILL') process.kill(process.pid, 'SIGKILL')
  if (way === 'exit') process.exit(0)
  if (way === 'rejection') Promise.reject(new Error('nobody handles this'))
  return new Promise(() => {})
}

const wanted = want(kafka, {})

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

const watched: Wanted<Awaited<ReturnType<typeof wanted.start>>> = { ...wanted, start: ctx => wanted.start(dying(ctx)) }
const set: RigSet<{ one: typeof watched; two: typeof watched } & Wishes> = await rig({ one: watched, two: watched })
if (moment === 'paused') set.parts.one.pause()
await die()
