import { type Client, type ConnectionManager, createClient } from 'node-zookeeper-client'
import type { Fault } from '../../errors.ts'
import type { Secret } from '../../flow/secret.ts'
import { coordinationCloseMs, coordinationStaleShare } from '../../limits.ts'
import type { Chance, Clock } from '../../ports/clock.ts'
import type { Server } from './decide/connectString.ts'
import { serverName } from './decide/trouble.ts'
import { type Dialling, dialling } from './dialling.ts'
import { mendExceptions } from './exceptions.ts'
import { frameReader } from './frames.ts'
import { gate } from './gate.ts'

export type Login = { user: string; password: Secret<string> }

/** The library's client of one session, mended: see the table of COORDINATION §7. */
export type Line = {
  client: Client
  /** Whether operations may be handed to the client: nothing ever waits inside it (C-83). */
  open(): boolean
  session(): string | null
  timeoutMs(): number
  login(login: Login): void
  /** Something was answered in order: the server serves us. */
  proven(): void
  cut(why: string): void
  /** Cuts, and waits longer before the next try (C-84). */
  deny(fault: Fault): void
  trouble(): Fault
  close(): Promise<void>
}

export type LineEvents = {
  opened(): void
  suspended(): void
  /** The session is over. True: a new one is wanted, nothing has been done in the old one. */
  expired(): boolean
}

export type LineOptions = {
  servers: readonly Server[]
  sessionMs: number
  login: Login | null
  clock: Clock
  chance: Chance
  /** The id of the first request; tests begin near the end. */
  requestId?: number
}

/** The library's numbers of its states. */
const states = { disconnected: 0, connecting: 1, connected: 2, closing: -1, closed: -2, expired: -3 }
const authXid = -4
const pingXid = -2

export function openLine(how: LineOptions, on: LineEvents): Line {
  mendExceptions()
  const servers = how.servers.map(serverName).join(',')
  const client = createClient(servers, { sessionTimeout: how.sessionMs, spinDelay: 0, retries: 0 })
  const manager = client.connectionManager
  manager.xid = how.requestId ?? manager.xid
  const dial = dialling(how)
  const is: Is = { open: false, ended: false, loginsAwaited: 0, heardAtMs: how.clock.nowMs(), pinged: false }
  const shut = () => {
    if (!is.open) return
    is.open = false
    on.suspended()
  }
  const cut = (why: string) => {
    dial.note(why)
    shut()
    drop(manager)
  }
  const parts: Parts = { manager, dial, is, how, on, cut, shut }
  mendDialling(parts)
  mendReading(parts)
  mendStates(parts)
  if (how.login) client.addAuthInfo('digest', bytesOf(how.login))
  client.connect()
  return {
    client,
    open: () => is.open,
    session: () => (manager.sessionId.some(byte => byte !== 0) ? manager.sessionId.toString('hex') : null),
    timeoutMs: () => manager.sessionTimeout,
    login(login) {
      if (manager.state === states.connected) is.loginsAwaited++
      client.addAuthInfo('digest', bytesOf(login))
      dial.hurry()
    },
    proven: () => dial.proven(),
    cut,
    deny(fault) {
      dial.deny(fault)
      cut(fault.message)
    },
    trouble: () => dial.trouble(),
    close: () => close(client, parts),
  }
}

type Is = { open: boolean; ended: boolean; loginsAwaited: number; heardAtMs: number; pinged: boolean }
type Parts = {
  manager: ConnectionManager
  dial: Dialling
  is: Is
  how: LineOptions
  on: LineEvents
  cut(why: string): void
  shut(): void
}

function bytesOf(login: Login): Buffer {
  return Buffer.from(`${login.user}:${login.password.reveal()}`)
}

/** What is still to be sent must not arrive later: the session may by then be on another server. */
function drop(manager: ConnectionManager): void {
  if (manager.socket?.connecting) manager.socket.destroy()
  else manager.socket?.resetAndDestroy()
}

function mendDialling({ manager, dial, is, how, cut }: Parts): void {
  manager.findNextServer = then => {
    if (is.ended) return
    dial.next(
      server => {
        // A server whose data is older than what we have seen, wiped or restored, closes without a word (C-85).
        if (how.clock.nowMs() - is.heardAtMs > coordinationStaleShare * manager.sessionTimeout) {
          manager.zxid = Buffer.alloc(8)
        }
        then(server)
        // Its own timer goes on after its dial was given up, and cuts a later connection (C-86).
        if (manager.connectTimeoutHandler) clearTimeout(manager.connectTimeoutHandler)
      },
      ms => cut(`no session within ${ms} ms`),
    )
  }
  const failed = manager.onSocketError
  manager.onSocketError = error => {
    dial.note(error.message)
    failed.call(manager, error)
  }
  const connected = manager.onSocketConnected
  manager.onSocketConnected = () => {
    is.loginsAwaited = manager.credentials.length
    is.pinged = false
    connected.call(manager)
  }
  // A ping that was not answered until the next one is due: the line is mute (C-73).
  const pinged = manager.onSocketTimeout
  manager.onSocketTimeout = () => {
    if (is.pinged) return cut('a ping was not answered')
    is.pinged = true
    pinged.call(manager)
  }
}

function mendReading(parts: Parts): void {
  const { manager, is, how, cut } = parts
  const frames = frameReader()
  const { passOn } = gate(manager, () => is.open)
  const read = manager.onSocketData
  const take = (frame: Buffer) => {
    is.heardAtMs = how.clock.nowMs()
    is.pinged = false
    const xid = manager.state === states.connecting ? null : frame.readInt32BE(4)
    if (xid === authXid) loginAnswered(parts, frame.readInt32BE(16))
    else if (xid !== pingXid) read.call(manager, frame)
  }
  manager.onSocketData = bytes => {
    try {
      for (const frame of frames.push(bytes)) {
        if (manager.socket?.destroyed) return
        take(frame)
      }
      passOn()
    } catch (error) {
      // It is not ZooKeeper that speaks there; the library would end the process.
      cut(`what it says is not ZooKeeper's protocol: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const closed = manager.onSocketClosed
  manager.onSocketClosed = hadError => {
    frames.reset()
    manager.pendingBuffer = null
    // What is handed over while there is no connection would be done when there is one, however late (C-83).
    manager.packetQueue.queue.length = 0
    parts.shut()
    parts.dial.ended()
    closed.call(manager, hadError)
  }
}

function loginAnswered({ is, dial, on, cut }: Parts, error: number): void {
  if (error !== 0) {
    const message = `ZooKeeper refuses our login (its error ${error})`
    dial.deny({ code: 'coordination-denied', message, hint: 'Check the secret of coordination.auth.' })
    return cut(message)
  }
  is.loginsAwaited--
  if (is.loginsAwaited === 0 && !is.open) opened({ is, dial, on })
}

function opened({ is, dial, on }: Pick<Parts, 'is' | 'dial' | 'on'>): void {
  dial.answered()
  is.open = true
  on.opened()
}

function mendStates(parts: Parts): void {
  const { manager, is, on } = parts
  manager.on('state', (state: number) => {
    if (state === states.connected && is.loginsAwaited === 0) opened(parts)
    if (state !== states.expired) return
    if (on.expired()) {
      manager.sessionId = Buffer.alloc(8)
      manager.sessionPassword = Buffer.alloc(16)
      manager.zxid = Buffer.alloc(8)
      manager.state = states.disconnected
    } else {
      is.ended = true
      parts.dial.stop()
    }
    drop(manager)
  })
}

/**
 * With a session that is in use its end is told to the server and waited for. While there is no connection the library
 * would misread the answer that comes (C-81): then the session runs out by itself.
 */
async function close(client: Client, { manager, dial, is, how }: Parts): Promise<void> {
  if (is.ended) return
  is.ended = true
  dial.stop()
  const { socket } = manager
  if (!is.open || !socket || socket.destroyed) {
    manager.state = socket ? states.closing : states.closed
    return void socket?.destroy()
  }
  const ended = new Promise<void>(resolve => socket.once('close', () => resolve()))
  client.close()
  const cancel = how.clock.after(coordinationCloseMs, () => socket.destroy())
  await ended
  cancel()
}
