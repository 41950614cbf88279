/** The thread of `hanging.ts`: listens, says so, and never comes back to its event loop, so nothing is accepted. */
import { createServer } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

createServer().listen({ ...workerData, backlog: 1 }, () => {
  parentPort?.postMessage('listening')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
})
