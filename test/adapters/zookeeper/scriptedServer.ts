import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { frameReader } from '../../../engine/adapters/zookeeper/frames.ts'

/** ZooKeeper's numbers of what it is asked. */
export const kinds = {
  create: 1,
  exists: 3,
  getData: 4,
  setData: 5,
  ping: 11,
  getChildren2: 12,
  multi: 14,
  auth: 100,
  setWatches: 101,
  closeSession: -11,
}

export type Hello = { zxid: string; session: string; timeoutMs: number }
export type Request = { connection: number; xid: number; type: number; body: Buffer }
/** Null: no answer. */
export type Reply = { error: number; body?: Buffer } | null

export type Script = {
  /** What a connection is greeted with; default: a session. */
  greet?: (hello: Hello, connection: number) => 'silence' | 'close' | 'expired' | 'session'
  /** Undefined: as a server with one document would. */
  answer?: (request: Request) => Reply | undefined
  timeoutMs?: number
}

export type ScriptedServer = {
  host: string
  port: number
  script: Script
  hellos: Hello[]
  requests: Request[]
  /** Ends when there were so many connections, requests. */
  until(condition: () => boolean): Promise<void>
  /** Of the newest connection. */
  send(bytes: Buffer): void
  reply(request: Request, reply: NonNullable<Reply>): void
  greet(): void
  cut(): void
  close(): Promise<void>
}

const sessionId = Buffer.from('0123456789abcdef', 'hex')

/** A ZooKeeper of one session that does what it is told, also what a real one cannot be made to do. */
export async function scriptedServer(script: Script = {}): Promise<ScriptedServer> {
  const sockets: Socket[] = []
  const waiting = new Set<() => void>()
  const hellos: Hello[] = []
  const requests: Request[] = []
  const wake = () => {
    for (const one of [...waiting]) one()
  }
  let zxid = 0
  const server: ScriptedServer = {
    host: '127.0.0.1',
    port: 0,
    script,
    hellos,
    requests,
    until: condition =>
      new Promise(resolve => {
        const look = () => {
          if (!condition()) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    send: bytes => void sockets.at(-1)?.write(bytes),
    reply({ xid, connection }, { error, body }) {
      const header = Buffer.alloc(16)
      header.writeInt32BE(xid, 0)
      header.writeBigInt64BE(BigInt(++zxid), 4)
      header.writeInt32BE(error, 12)
      sockets[connection - 1]?.write(framed(header, body ?? Buffer.alloc(0)))
    },
    greet: () => server.send(welcome(server.script.timeoutMs ?? 4_000)),
    cut: () => void sockets.at(-1)?.resetAndDestroy(),
    async close() {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
  function hello(frame: Buffer, socket: Socket): void {
    hellos.push({
      zxid: frame.subarray(8, 16).toString('hex'),
      timeoutMs: frame.readInt32BE(16),
      session: frame.subarray(20, 28).toString('hex'),
    })
    const how = server.script.greet?.(hellos.at(-1) as Hello, sockets.length) ?? 'session'
    if (how === 'close') socket.destroy()
    if (how === 'expired') socket.end(welcome(0))
    if (how === 'session') server.greet()
  }
  const listener = createServer({ noDelay: true }, socket => {
    const connection = sockets.push(socket)
    const frames = frameReader()
    let greeted = false
    socket.on('error', () => {})
    socket.on('data', bytes => {
      for (const frame of frames.push(bytes)) {
        if (!greeted) {
          greeted = true
          hello(frame, socket)
        } else {
          const request = {
            connection,
            xid: frame.readInt32BE(4),
            type: frame.readInt32BE(8),
            body: frame.subarray(12),
          }
          requests.push(request)
          const reply = server.script.answer?.(request)
          if (reply !== null) server.reply(request, reply ?? usual(request))
          if (reply !== null && request.type === kinds.closeSession) socket.end()
        }
      }
      wake()
    })
    wake()
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  server.port = (listener.address() as { port: number }).port
  return server
}

function framed(...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length)
  return Buffer.concat([length, body])
}

function welcome(timeoutMs: number): Buffer {
  const body = Buffer.alloc(4 + 4 + 8 + 4 + 16)
  body.writeInt32BE(timeoutMs, 4)
  if (timeoutMs > 0) sessionId.copy(body, 8)
  body.writeInt32BE(16, 16)
  return framed(body)
}

const statBytes = 68

function usual({ type }: Request): NonNullable<Reply> {
  const body = {
    [kinds.exists]: statBytes,
    [kinds.setData]: statBytes,
    [kinds.getData]: 4 + statBytes,
    [kinds.getChildren2]: 4 + statBytes,
  }[type]
  return { error: 0, body: Buffer.alloc(body ?? 0) }
}

/** The notification that the data, or the children, of that path have changed. */
export function changed(what: 'data' | 'children', path: string): Buffer {
  const header = Buffer.alloc(16)
  header.writeInt32BE(-1, 0)
  const event = Buffer.alloc(8 + 4)
  event.writeInt32BE(what === 'data' ? 3 : 4, 0)
  event.writeInt32BE(3, 4)
  event.writeInt32BE(path.length, 8)
  return framed(header, event, Buffer.from(path))
}
