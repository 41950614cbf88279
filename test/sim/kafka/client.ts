import { MillraceError } from '../../../engine/errors.ts'
import type { KafkaCluster } from '../../../engine/ports/kafka.ts'
import type { Machine } from '../machine.ts'
import type { Network, Wire } from '../network.ts'
import { brokerHost, type Framed, type KafkaAnswer, type KafkaRequest, type Sender } from './broker.ts'

/** The one connection of a process with Kafka. */
export type SimKafka = Pick<KafkaCluster, 'cut' | 'close'> & {
  /** Rejects with `kafka-link-lost` when the connection goes, and after 30 s. */
  ask(request: KafkaRequest): Promise<unknown>
}

const requestMs = 30_000

export function openSimKafka(how: { machine: Machine; network: Network; isFenced(): boolean }): SimKafka {
  const { machine, network } = how
  const open = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void; cancel(): void }>()
  let wire: Wire | null = null
  let ids = 0

  function connected(): Wire {
    if (wire) return wire
    const mine = network.dial(machine.name, brokerHost)
    wire = mine
    mine.on = {
      messages: messages =>
        machine.enter(() => {
          if (wire !== mine) return
          for (const message of messages) {
            const { id, value } = message as KafkaAnswer
            const one = open.get(id)
            open.delete(id)
            one?.cancel()
            one?.resolve(value)
          }
        }),
      closed: () => machine.enter(() => wire === mine && dropped()),
    }
    return mine
  }

  function dropped(): void {
    wire?.destroy()
    wire = null
    const all = [...open.values()]
    open.clear()
    for (const one of all) {
      one.cancel()
      one.reject(linkLost())
    }
  }

  return {
    ask(request) {
      const mine = connected()
      const id = ++ids
      const sender: Sender = {
        by: machine.name,
        isPast: () => !machine.isAlive() || !mine.isOpen() || how.isFenced(),
      }
      return new Promise((resolve, reject) => {
        const cancel = machine.clock.after(requestMs, dropped)
        open.set(id, { resolve, reject, cancel })
        mine.send({ id, request, sender } satisfies Framed)
      })
    },
    cut: dropped,
    async close() {
      dropped()
    },
  }
}

function linkLost(): MillraceError {
  return new MillraceError('kafka-link-lost', 'the connection has gone', { retryable: true })
}
