import type { Coordinator, Op } from '../../engine/ports/coordinator.ts'
import type { Process } from './fleet.ts'
import type { World } from './world.ts'

/** Steps of a leader at which it can be hit (C-111): taking office, a multi, a chore. */
export const steps = ['office', 'takeover', 'round', 'left', 'chore'] as const
export type Step = (typeof steps)[number]
export type Moment = 'before' | 'sent' | 'answered'
type Armed = { step: Step; moment: Moment; hit(process: Process): void }

export type Steps = {
  /** The next process that comes to this step is hit in it, once. */
  arm(armed: Armed): void
  disarm(): void
  watched(process: Process, coordinator: Coordinator): Coordinator
  chore(process: Process): void
}

export function makeSteps(world: World, beatAnswered: (id: string) => void): Steps {
  let armed: Armed | null = null

  /** What is hit is hit when its code has come to a rest. */
  function hit(process: Process, moment: Moment): void {
    world.note(`${process.id} is hit at ${armed?.step}, ${moment}`)
    const { hit: strike } = armed as Armed
    armed = null
    world.after(0, () => strike(process))
  }

  function isAt(step: Step | null, moment: Moment): boolean {
    return armed !== null && armed.step === step && armed.moment === moment
  }

  return {
    arm(next) {
      armed = next
    },
    disarm() {
      armed = null
    },
    watched(process, coordinator) {
      return {
        ...coordinator,
        async beat(...what) {
          const version = await coordinator.beat(...what)
          beatAnswered(process.id)
          return version
        },
        write(ops) {
          const step = stepOf(ops, process.id)
          if (isAt(step, 'before')) {
            hit(process, 'before')
            // Decided, and not sent before it goes on.
            return new Promise((resolve, reject) => {
              process.machine.clock.after(1, () => void coordinator.write(ops).then(resolve, reject))
            })
          }
          const written = coordinator.write(ops)
          // To be made is as good as a first beat.
          if (ops[0]?.do === 'create' && ops[0].mode === 'sequential')
            void written.then(
              () => beatAnswered(process.id),
              () => {},
            )
          if (isAt(step, 'sent')) hit(process, 'sent')
          if (!isAt(step, 'answered')) return written
          return written.finally(() => isAt(step, 'answered') && hit(process, 'answered'))
        },
      }
    },
    chore(process) {
      if (armed?.step === 'chore') hit(process, armed.moment)
    },
  }
}

function stepOf(ops: readonly Op[], id: string): Step | null {
  if (ops.some(op => op.path === '/epoch' && op.do !== 'check')) return 'office'
  if (ops.some(op => op.do === 'remove' && op.path.startsWith('/workers/') && op.path !== `/workers/${id}`))
    return 'takeover'
  if (ops.some(op => op.do !== 'check' && op.path.startsWith('/assignments/'))) return 'round'
  if (ops.some(op => op.do === 'set' && op.path.startsWith('/held/') && op.path !== `/held/${id}`)) return 'left'
  return null
}
