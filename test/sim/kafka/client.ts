import { MillraceError } from '../../../engine/errors.ts'
import type { KafkaCluster } from '../../../engine/ports/kafka.ts'
import type { Machine } from '../machine.ts'
import type { Network, Wire } from '../network.ts'
import type { ClusterName, Framed, KafkaAnswer, KafkaRequest, Sender } from './broker.ts'

/** The connection of a process with one cluster. */
export type SimKafka = Pick<KafkaCluster, 'cut' | 'close'> & {
  /** Rejects with `kafka-link-lost` when the connection goes, and after 30 s. */
  ask(request: KafkaRequest): Promise<unknown>
}

const requestMs = 30_000

type How = { machine: Machine; network: Network; cluster: ClusterName; isFenced(): boolean }

export function openSimKafka(how: How): SimKafka {
  const { machine, network } = how
  const open = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void; cancel(): void }>()
  let wire: Wire | null = null
  let ids = 0

  function connected(): Wire {
    if (wire) return wire
    const mine = network.dial(machine.name, how.cluster)
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
