import { Buffer } from 'node:buffer'
import net from 'node:net'
import tls from 'node:tls'
import { Kafka, logLevel, type SASLOptions } from 'kafkajs'
import { MillraceError } from '../../errors.ts'
import { isLoopback } from '../../flow/loopback.ts'
import type { Secret } from '../../flow/secret.ts'
import { connectTimeoutMs, keepAliveMs, loginTimeoutMs, readScratchBytes } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Address } from './cluster.ts'
import { Facade } from './facade.ts'
import type { Link } from './link.ts'
import { loginFault } from './loginFault.ts'

/** PEM. `ca` null: what Node trusts. `serverName` null: the certificate must be for the broker's own host. */
export type Tls = { ca: string | null; client: ClientCertificate | null; serverName: string | null }
export type ClientCertificate = { certificate: string; key: Secret<string>; passphrase: Secret<string> | null }

/**
 * How to speak to a cluster. `tls` and `credential` are asked at each login, so a changed secret is used by the next
 * link (K-52); they reject with the fault of the secret.
 */
export type Security = {
  tls: null | (() => Promise<Tls>)
  sasl: null | {
    mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
    credential: () => Promise<{ username: string; password: Secret<string> }>
    /** K-3: also a broker that is advertised later must be on this machine. */
    loopbackOnly?: boolean
  }
  /** Tells of each change until the answer is called; absent: nothing ever changes. */
  onChange?(tell: () => void): () => void
  /** What people call a key of `security:` of this cluster; absent: `security.<key>`. */
  keyName?: KeyName
}
export type KeyName = (key: string) => string

export const plainSecurity: Security = { tls: null, sasl: null }

export function keyNameOf({ keyName }: Security): KeyName {
  return keyName ?? (key => `security.${key}`)
}

/** A socket that is logged in. From `handOver` on, what it reads goes to the link. */
export type LoggedIn = {
  socket: net.Socket
  sessionEndsAtMs: number | null
  unsentBytes(): number
  handOver(link: Link): void
}

type Opened = { socket: net.Socket; error: (Error & { code?: string }) | null; link: Link | null }

/**
 * Logs in with kafkajs's public API over a facade; then kafkajs is disconnected and the real socket stays ours
 * (KAFKA-CLIENT W-2, W-21). Rejects with a MillraceError after `loginTimeoutMs` at the latest; a login that fails
 * leaves no socket and no timer.
 */
export async function login(how: {
  cluster: string
  address: Address
  clientId: string
  security: Security
  clock: Clock
}): Promise<LoggedIn> {
  const { address, security } = how
  const sasl = await saslOptions(security, [address])
  const secured = security.tls ? await security.tls() : null
  const opened: Opened = { socket: null as unknown as net.Socket, error: null, link: null }
  const facade = new Facade(() => opened.socket)
  const startedMs = how.clock.nowMs()
  const admin = new Kafka({
    clientId: how.clientId,
    brokers: [`${address.host}:${address.port}`],
    connectionTimeout: connectTimeoutMs,
    requestTimeout: loginTimeoutMs,
    retry: { retries: 0 },
    logLevel: logLevel.NOTHING,
    ...(secured ? { ssl: true } : {}),
    ...(sasl ? { sasl } : {}),
    socketFactory: ({ onConnect }) => {
      open(opened, facade, { address, tls: secured }, onConnect)
      // kafkajs asks for a net.Socket and uses what the facade has.
      return facade as unknown as net.Socket
    },
  }).admin()
  let timedOut = false
  try {
    await within(loginTimeoutMs, admin.connect(), () => {
      timedOut = true
    })
    facade.take()
    await admin.disconnect()
  } catch (cause) {
    // kafkajs has its own time-out for the connect, and says so only in its text.
    const late = timedOut || (opened.error === null && how.clock.nowMs() - startedMs >= connectTimeoutMs)
    // A mechanism that failed on our side leaves the connection open: nothing in kafkajs closes it.
    const gone = admin.disconnect().catch(() => {})
    opened.socket?.destroy()
    if (!timedOut) await gone
    throw loginFault({
      cluster: how.cluster,
      address: `${address.host}:${address.port}`,
      cause,
      socketError: opened.error,
      sasl: facade.trace,
      mechanism: security.sasl?.mechanism ?? null,
      clientCertificate: secured ? secured.client !== null : null,
      keyName: keyNameOf(security),
      timedOut: late,
    })
  }
  const lifetimeMs = facade.trace.lifetimeMs ?? 0
  return {
    socket: opened.socket,
    sessionEndsAtMs: lifetimeMs > 0 ? startedMs + lifetimeMs : null,
    unsentBytes: () => unsentBytes(opened.socket),
    handOver: link => {
      opened.link = link
      if (opened.socket.destroyed) link.failed(opened.error?.message ?? 'it was closed')
    },
  }
}

/**
 * A new object for each login: kafkajs writes its provider into it (W-2). Rejects as `refuseFar`, and with the fault of
 * the secret.
 */
export async function saslOptions(security: Security, addresses: readonly Address[]): Promise<SASLOptions | undefined> {
  const { sasl } = security
  if (!sasl) return undefined
  refuseFar(security, addresses)
  const { username, password } = await sasl.credential()
  return { mechanism: sasl.mechanism, username, password: password.reveal() } as SASLOptions
}

/** Throws `config-invalid` where a password would go to another machine in clear (K-3). */
export function refuseFar(security: Security, addresses: readonly Address[]): void {
  const far = security.sasl?.loopbackOnly ? addresses.find(({ host }) => !isLoopback(host)) : undefined
  if (!far) return
  const name = keyNameOf(security)
  throw new MillraceError(
    'config-invalid',
    `broker ${far.host}:${far.port} would be sent the password in clear (K-3)`,
    {
      hint: `set ${name('tls')}, or ${name('allowPlaintext')}`,
    },
  )
}

function open(opened: Opened, facade: Facade, how: { address: Address; tls: Tls | null }, onConnect: () => void): void {
  const { host, port } = how.address
  const scratch = Buffer.allocUnsafeSlow(readScratchBytes)
  const onread = {
    buffer: () => opened.link?.target() ?? scratch,
    callback: (bytes: number, buffer: Uint8Array) => {
      if (opened.link) {
        // Node asks for the next buffer when it has given the last: the first read of the link is still in ours.
        if (buffer === scratch) scratch.copy(opened.link.target(), 0, 0, bytes)
        return opened.link.read(bytes)
      }
      facade.received(buffer, bytes)
      return true
    },
  }
  const plain = { host, port, onread, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs }
  opened.socket = how.tls
    ? tls.connect({ ...plain, ...tlsOptions(host, how.tls) } as tls.ConnectionOptions, onConnect)
    : net.connect(plain as net.NetConnectOpts, onConnect)
  opened.socket.on('error', (error: Error & { code?: string }) => {
    opened.error = error
    if (!opened.link) facade.emit('error', error)
  })
  opened.socket.on('close', () => {
    const { link } = opened
    if (!link) return facade.emit('end')
    // Brokers end idle connections after 10 minutes: that is no fault (W-24).
    if (link.open === 0 && opened.error === null) link.end(null)
    else link.failed(opened.error?.message ?? 'the broker closed it')
  })
}

/**
 * What the system has not taken yet of the write under way. Node's public counts move only with whole writes, which may
 * be megabytes; its own time-outs tell a slow peer from a dead one by this number. Without it they count alone.
 */
function unsentBytes(socket: net.Socket): number {
  const { _handle: handle } = socket as unknown as { _handle: { writeQueueSize?: number } | null }
  return handle?.writeQueueSize ?? 0
}

/** The name that is asked for is also the one that the certificate must have (W-21). */
export function tlsOptions(host: string, { ca, client, serverName }: Tls): tls.ConnectionOptions {
  const servername = serverName ?? (net.isIP(host) ? null : host)
  return {
    minVersion: 'TLSv1.2',
    ...(servername === null ? {} : { servername }),
    ...(ca === null ? {} : { ca }),
    ...(client === null ? {} : { cert: client.certificate, key: client.key.reveal() }),
    ...(client?.passphrase ? { passphrase: client.passphrase.reveal() } : {}),
  }
}

/** The timer is ours: a mechanism that waits (a silent KDC) is stopped by nothing in kafkajs (W-2). */
async function within(ms: number, work: Promise<void>, late: () => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      late()
      reject(new Error(`no login within ${ms} ms`))
    }, ms)
  })
  work.catch(() => {})
  try {
    await Promise.race([work, end])
  } finally {
    clearTimeout(timer)
  }
}
