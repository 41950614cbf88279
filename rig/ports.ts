import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { RigError } from './errors.ts'
import { portFirst, portLast, portTriesMax } from './limits.ts'

/** Gives a port that was free on 127.0.0.1 a moment ago. Rejects with `rig-port` when none is found. */
export interface Ports {
  take(): Promise<number>
}

// for the life of the owner, over all of its sets. A port that a stopped broker will want again is not free.
const taken = new Set<number>()

/**
 * Random ports of 20000–31999, tried by a real bind. Random, not counted: two owners that start at the same
 * moment would otherwise walk over the same ports in the same order.
 */
export function randomPorts(): Ports {
  return {
    async take() {
      for (let tries = 0; tries < portTriesMax; tries++) {
        const port = randomInt(portFirst, portLast + 1)
        if (taken.has(port)) continue
        // Before the bind is awaited: a second call in between must not draw the same port.
        taken.add(port)
        if (await isFree(port)) return port
      }
      throw new RigError('rig-port', `no free port of ${portFirst}–${portLast} in ${portTriesMax} tries`)
    },
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}
