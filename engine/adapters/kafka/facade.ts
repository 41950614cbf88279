import { Buffer } from 'node:buffer'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { Reader } from './wire.ts'

const saslHandshakeKey = 17
const saslAuthenticateKey = 36
const lengthBytes = 4

/** What passed between kafkajs and the broker while it logged in (W-22). */
export type SaslTrace = {
  /** Kafka's error of the last SASL answer, 0 = none; null = no SASL answer was seen. */
  error: number | null
  message: string | null
  /** Session lifetime of the last SaslAuthenticate answer; 0 = no end; null = none was seen. */
  lifetimeMs: number | null
  /** An answer to anything has come: the broker speaks Kafka on this port. */
  answered: boolean
}

/**
 * An object that looks like a socket to kafkajs (KAFKA-CLIENT W-2). It is given what `onread` delivered as `data`
 * events, copied, because the scratch buffer is used again, and reads what kafkajs hides: errors and the lifetime.
 * Until `taken` its `end` and `destroy` really destroy the socket; after that they do nothing.
 */
export class Facade extends EventEmitter {
  readonly trace: SaslTrace = { error: null, message: null, lifetimeMs: null, answered: false }
  readonly #socket: () => Socket
  #taken = false
  #asked: { key: number; version: number } | null = null
  #seen: Buffer = Buffer.alloc(0)

  constructor(socket: () => Socket) {
    super()
    this.#socket = socket
    this.on('error', () => {})
  }

  /** From now on the socket is ours; kafkajs may say goodbye. */
  take(): void {
    this.#taken = true
    this.removeAllListeners()
    this.on('error', () => {})
  }

  get taken(): boolean {
    return this.#taken
  }

  received(buffer: Uint8Array, bytes: number): void {
    const copy = Buffer.from(buffer.subarray(0, bytes))
    this.#sniff(copy)
    this.emit('data', copy)
  }

  write(bytes: Buffer): boolean {
    this.#asked = { key: bytes.readInt16BE(lengthBytes), version: bytes.readInt16BE(lengthBytes + 2) }
    return this.#socket().write(bytes)
  }

  end(): void {
    if (!this.#taken) this.#socket().destroy()
  }

  destroy(): void {
    this.end()
  }

  unref(): void {}

  setKeepAlive(): void {}

  /** Answers come one at a time during a login; a frame may come in pieces. */
  #sniff(bytes: Buffer): void {
    this.#seen = Buffer.concat([this.#seen, bytes])
    while (this.#seen.length >= lengthBytes && this.#seen.length >= lengthBytes + this.#seen.readInt32BE(0)) {
      const end = lengthBytes + this.#seen.readInt32BE(0)
      const body = this.#seen.subarray(lengthBytes + 4, end)
      this.#seen = this.#seen.subarray(end)
      this.trace.answered = true
      if (this.#asked?.key === saslHandshakeKey) this.trace.error = body.readInt16BE(0)
      if (this.#asked?.key === saslAuthenticateKey) this.#authenticated(body, this.#asked.version)
    }
  }

  /** SaslAuthenticate v0 and v1, the old encoding: i16 error, i16-string message, i32-bytes, from v1 i64 lifetime. */
  #authenticated(body: Buffer, version: number): void {
    const r = new Reader(body)
    this.trace.error = r.i16()
    const length = r.i16()
    const start = r.at
    this.trace.message = length < 0 ? null : body.toString('utf8', start, start + length)
    const at = start + Math.max(0, length)
    const bytes = Math.max(0, body.readInt32BE(at))
    if (version >= 1 && this.trace.error === 0) this.trace.lifetimeMs = Number(body.readBigInt64BE(at + 4 + bytes))
  }
}
