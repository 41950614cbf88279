import type { ConnectionManager, Packet } from 'node-zookeeper-client'
import { coordinationRequestIdMax } from '../../limits.ts'

const pingType = 11
const authType = 100

/**
 * What the library may send now. Until the login is answered only the login and pings: anything else would be refused
 * (C-77). When its request ids come near their end, what is asked for waits until nothing is open, for one round trip,
 * and they begin anew (C-78).
 */
export function gate(manager: ConnectionManager, open: () => boolean): { passOn(): void } {
  const queue = manager.packetQueue
  queue.shift = () => {
    if (!open()) return taken(queue.queue, queue.queue.findIndex(isLogin))
    if (manager.xid >= coordinationRequestIdMax) {
      if (manager.pendingQueue.length > 0) return undefined
      manager.xid = 1
    }
    return taken(queue.queue, 0)
  }
  return {
    passOn() {
      if (open() && queue.queue.length > 0) manager.onPacketQueueReadable()
    },
  }
}

function taken(queue: Packet[], at: number): Packet | undefined {
  return at < 0 ? undefined : queue.splice(at, 1)[0]
}

function isLogin(packet: Packet): boolean {
  const type = packet.request.header?.type
  return type === pingType || type === authType
}
