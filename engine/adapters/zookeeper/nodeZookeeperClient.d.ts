/** What the adapter uses of node-zookeeper-client 1.1.3, which brings no types; its insides too, for they are mended. */
declare module 'node-zookeeper-client' {
  import type { EventEmitter } from 'node:events'
  import type { Socket } from 'node:net'

  /** Of a document; what is a `long` to ZooKeeper is eight bytes here. */
  export type Stat = { czxid: Buffer; mzxid: Buffer; version: number; ephemeralOwner: Buffer; numChildren: number }

  export interface Exception extends Error {
    code: number
    getCode(): number
  }
  export const Exception: { create(code: number, path?: string): Exception }

  export class Id {
    constructor(scheme: string, id: string)
    readonly scheme: string
    readonly id: string
  }
  export class ACL {
    constructor(permission: number, id: Id)
    static readonly OPEN_ACL_UNSAFE: ACL[]
    readonly permission: number
    readonly id: Id
  }
  export const Permission: { readonly ALL: number }

  export type Done<A extends unknown[] = []> = (error: Exception | null, ...answer: A) => void

  export type OpResult = { type: number; path?: string; stat?: Stat; err?: number }

  export interface Transaction {
    readonly ops: { version?: number }[]
    create(path: string, data: Buffer, acls: ACL[], mode: number): this
    check(path: string, version: number): this
    setData(path: string, data: Buffer, version: number): this
    remove(path: string, version: number): this
    commit(done: (error: Exception | null, results: OpResult[] | undefined) => void): void
  }

  export type Packet = { request: { header: { type: number } | null } }

  export interface ConnectionManager extends EventEmitter {
    state: number
    xid: number
    zxid: Buffer
    sessionId: Buffer
    sessionPassword: Buffer
    sessionTimeout: number
    pingTimeout: number
    credentials: { scheme: string; auth: Buffer }[]
    pendingBuffer: Buffer | null
    readonly packetQueue: { queue: Packet[]; shift(): Packet | undefined }
    readonly pendingQueue: Packet[]
    readonly watcherManager: EventEmitter
    connectTimeoutHandler: NodeJS.Timeout | null
    socket: Socket | undefined
    findNextServer(then: (server: { host: string; port: number }) => void): void
    onSocketConnected(): void
    onSocketData(bytes: Buffer): void
    onSocketClosed(hadError: boolean): void
    onSocketError(error: Error): void
    onSocketTimeout(): void
    onPacketQueueReadable(): void
  }

  export interface Client {
    readonly connectionManager: ConnectionManager
    connect(): void
    close(): void
    addAuthInfo(scheme: string, auth: Buffer): void
    create(path: string, data: Buffer, acls: ACL[], mode: number, done: Done<[path: string]>): void
    setData(path: string, data: Buffer, version: number, done: Done<[stat: Stat]>): void
    getData(path: string, done: Done<[data: Buffer | undefined, stat: Stat]>): void
    getChildren(path: string, done: Done<[names: string[], stat: Stat]>): void
    getChildren(path: string, watcher: () => void, done: Done<[names: string[], stat: Stat]>): void
    exists(path: string, done: Done<[stat: Stat | null]>): void
    exists(path: string, watcher: () => void, done: Done<[stat: Stat | null]>): void
    getACL(path: string, done: Done<[acls: ACL[], stat: Stat]>): void
    setACL(path: string, acls: ACL[], version: number, done: Done<[stat: Stat]>): void
    transaction(): Transaction
  }

  export function createClient(
    servers: string,
    options: { sessionTimeout: number; spinDelay: number; retries: number },
  ): Client
}
