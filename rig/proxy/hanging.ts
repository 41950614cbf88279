/** An address where a connect neither succeeds nor fails. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { Ports } from '../ports.ts'
import type { Address } from '../proxy.ts'

export interface HangingAddress extends AsyncDisposable {
  address: Address
  stop(): Promise<void>
}

/** A queue of length 1 takes so many connections on Linux before it lets the next SYN fall. */
const queueConnections = 2

/**
 * A listener with the shortest queue and nobody who accepts: a thread listens, then sleeps for ever, so the kernel fills
 * the queue with our own two connections and drops every later SYN. A thread and not a stopped process: it ends with
 * its process in every case, where a stopped process would stay behind.
 */
export async function hangingAddress(ports: Ports): Promise<HangingAddress> {
  const address = { host: '127.0.0.1', port: await ports.take() }
  const worker = new Worker(new URL('./deaf-listener.ts', import.meta.url), { workerData: address })
  worker.unref()
  await once(worker, 'message')
  const fillers: Socket[] = []
  for (let n = 0; n < queueConnections; n++) {
    const filler = connect(address)
    fillers.push(filler)
    await once(filler, 'connect')
    // At the end the kernel resets what waits in the queue.
    filler.on('error', () => filler.destroy())
    filler.unref()
  }
  const stop = async () => {
    for (const filler of fillers) filler.destroy()
    await worker.terminate()
  }
  return { address, stop, [Symbol.asyncDispose]: stop }
}
