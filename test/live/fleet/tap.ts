import { connect, createServer, type Socket } from 'node:net'
import { Reader } from '../../../engine/adapters/kafka/wire.ts'
import { randomPorts } from '../../../rig/ports.ts'
import type { Address } from '../../../rig/proxy.ts'

/** A request that changes something at a broker, when it passed (`performance.now()`), and of which partitions. */
export type Request = { atMs: number; api: 'produce' | 'commit'; partitions: Map<number, bigint> }

/** A line to a broker on which each produce and commit is seen. */
export type Tap = { address: Address; requests: readonly Request[]; stop(): Promise<void> }

/** Stands before `target`; who uses it reaches the broker by it alone (`addresses` of the cluster). */
export async function tap(target: Address): Promise<Tap> {
  const requests: Request[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, client => {
    const far = connect({ ...target, noDelay: true })
    const seen = frames(frame => {
      const found = requestIn(frame)
      if (found) requests.push({ atMs: performance.now(), ...found })
    })
    client.on('data', seen)
    for (const [one, other] of [
      [client, far],
      [far, client],
    ] as const) {
      sockets.add(one)
      one.pipe(other)
      // Not reset: one that is destroyed while it is reset is never closed, and node waits for it when it ends.
      one.on('error', () => other.destroy())
      one.on('close', () => sockets.delete(one))
    }
  })
  const port = await randomPorts().take()
  await new Promise<void>(resolve => server.listen({ host: '127.0.0.1', port }, resolve))
  return {
    address: { host: '127.0.0.1', port },
    requests,
    stop() {
      for (const socket of sockets) socket.destroy()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
}

/** Whole frames of a stream: four bytes of length, then so many. */
function frames(frame: (bytes: Buffer) => void): (piece: Buffer) => void {
  let held: Buffer = Buffer.alloc(0)
  return piece => {
    held = held.length === 0 ? piece : Buffer.concat([held, piece])
    while (held.length >= 4) {
      const end = 4 + held.readInt32BE(0)
      if (held.length < end) return
      frame(held.subarray(4, end))
      held = held.subarray(end)
    }
  }
}

const [produceKey, commitKey] = [0, 8]

function requestIn(frame: Buffer): Omit<Request, 'atMs'> | null {
  const [key, version] = [frame.readInt16BE(0), frame.readInt16BE(2)]
  if (key !== produceKey && key !== commitKey) return null
  const r = new Reader(frame, 8 + 2 + frame.readInt16BE(8))
  r.tags()
  const partitions = new Map<number, bigint>()
  if (key === produceKey) readProduce(r, version, partitions)
  else readCommit(r, partitions)
  return { api: key === produceKey ? 'produce' : 'commit', partitions }
}

function readProduce(r: Reader, version: number, partitions: Map<number, bigint>): void {
  r.str()
  r.i16()
  r.i32()
  r.array(() => {
    if (version >= 13) r.uuid()
    else r.str()
    r.array(() => {
      partitions.set(r.i32(), 0n)
      r.bytes()
      r.tags()
    })
    r.tags()
  })
}

function readCommit(r: Reader, partitions: Map<number, bigint>): void {
  r.str()
  r.i32()
  r.str()
  r.str()
  r.array(() => {
    r.str()
    r.array(() => {
      const partition = r.i32()
      partitions.set(partition, r.i64())
      r.i32()
      r.str()
      r.tags()
    })
    r.tags()
  })
}
