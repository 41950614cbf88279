import type { ACL, Client, Done, OpResult, Stat } from 'node-zookeeper-client'
import { faultOf, MillraceError } from '../../errors.ts'
import { refuseTooLarge } from '../../flow/refuseTooLarge.ts'
import { coordinationTimeoutMs } from '../../limits.ts'
import type { Chance, Clock } from '../../ports/clock.ts'
import type { Coordinator, Node, Phase } from '../../ports/coordinator.ts'
import { accessFor } from './access.ts'
import { type Ask, ensureChroot } from './chroot.ts'
import { readConnectString } from './decide/connectString.ts'
import { faultOfCode, refusalOf, unanswered, zookeeperError } from './decide/faultOfCode.ts'
import { type Line, type Login, openLine } from './line.ts'
import { type Answer, type Operations, operations } from './operations.ts'
import { absolute, commit, failedAt, writtenOf } from './transaction.ts'
import { type Arm, watches } from './watches.ts'

export type ZookeeperOptions = {
  /** `host:port,host:port/chroot` */
  connect: string
  sessionMs: number
  /** Digest (C-84); null: nobody logs in and every node is open. */
  auth: Login | null
  clock: Clock
  /** Which server is first, and how long the back-offs are. */
  chance: Chance
  /** The id of the first request; tests begin near the end (C-78). */
  requestId?: number
}

export interface ZookeeperCoordinator extends Coordinator {
  /** A changed secret, for the live session too (C-84). What is made from now on is for it alone, what is there is not changed. */
  login(login: Login): void
}

/** One session with ZooKeeper (C-80). Throws `config-invalid` for what it cannot be opened with. */
export function openZookeeper(options: ZookeeperOptions): ZookeeperCoordinator {
  const { servers, chroot } = readConnectString(options.connect)
  if (options.auth && !chroot) {
    throw new MillraceError('config-invalid', 'coordination.auth without a path in coordination.zookeeper', {
      hint: `Write ${options.connect.replace(/\/$/, '')}/millrace: the root of ZooKeeper cannot be closed to others.`,
    })
  }
  const session = sessionOf({ ...options, servers, root: chroot ?? '' })
  return { ...session.life, ...documents(session) }
}

type Session = {
  root: string
  /** Of what is made now. */
  access(): ACL[]
  life: Pick<ZookeeperCoordinator, 'state' | 'changed' | 'watch' | 'close' | 'login'>
  /** Rejects with `coordination-unreachable`, `coordination-denied` or `session-lost` when there is no connection. */
  ask: AskOp
}

type Asked = { what: string; kind: 'read' | 'write'; beat?: true }
type AskOp = <A extends unknown[]>(
  asked: Asked,
  go: (client: Client, done: Done<A>) => void,
  known: (code: number) => boolean,
) => Promise<Answer<A>>

type SessionOptions = Omit<ZookeeperOptions, 'connect'> & {
  servers: ReturnType<typeof readConnectString>['servers']
  root: string
}

function sessionOf(how: SessionOptions): Session {
  const open = operations(how.clock)
  const listeners = new Set<(phase: Phase) => void>()
  const logins = how.auth ? [how.auth] : []
  let phase: Phase = 'connecting'
  const to = (next: Phase) => {
    if (phase === next || phase === 'lost') return
    phase = next
    // Before anybody reads: what is read behind them is what they watch from.
    if (phase === 'connected') standing.rearm()
    for (const listener of [...listeners]) told(listener, next)
  }
  const ended = (why: string) => {
    to('lost')
    standing.end()
    open.settle(why)
  }
  const line = openLine(
    { ...how, login: how.auth },
    {
      opened: () => void prepare(),
      suspended() {
        if (phase === 'connected') to('suspended')
        open.settle('the connection was lost')
      },
      expired() {
        // Nothing was done in it yet.
        if (phase === 'connecting') return true
        ended('the session has expired')
        return false
      },
    },
  )
  const askLine = asker(line, open, () => phase)
  const standing = watches(() => line.open(), arming(askLine, how.root))
  // Each opening is proven by an answer: a server that demands SASL answers the session and the login, and then closes.
  async function prepare(): Promise<void> {
    const ask: Ask = (what, go, known) => askLine({ what, kind: 'read' }, go, code => known.includes(code))
    try {
      if (phase === 'connecting' && how.root) await ensureChroot(how.root, logins, ask)
      else await ask<[Stat | null]>('exists /', (client, done) => client.exists(how.root || '/', done), [])
      if (!line.open() || phase === 'lost') return
      line.proven()
      to('connected')
    } catch (error) {
      const fault = faultOf(error, 'coordination-unreachable')
      // Whoever cut the line has said why.
      if (!line.open()) return
      if (fault.code === 'coordination-denied') line.deny(fault)
      else line.cut(fault.message)
    }
  }

  const ask: AskOp = (asked, go, known) =>
    phase === 'connected' ? askLine(asked, go, known) : Promise.reject(closedFault(phase, line, asked))
  return {
    root: how.root,
    access: () => accessFor(logins.at(-1) ?? null),
    ask,
    life: {
      state: () => ({
        session: phase === 'lost' || phase === 'connecting' ? null : line.session(),
        timeoutMs: line.timeoutMs(),
        phase,
        trouble: phase === 'connecting' || phase === 'suspended' ? line.trouble() : null,
      }),
      changed(listener, signal) {
        if (signal.aborted) return
        listeners.add(listener)
        signal.addEventListener('abort', () => listeners.delete(listener), { once: true })
      },
      watch: standing.add,
      login(login) {
        logins.push(login)
        line.login(login)
      },
      async close() {
        to('lost')
        standing.end()
        await line.close()
        open.settle('the session was closed')
      },
    },
  }
}

function told(listener: (phase: Phase) => void, phase: Phase): void {
  try {
    listener(phase)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}

function closedFault(phase: Phase, line: Line, { what }: Asked): MillraceError {
  if (phase === 'lost') return new MillraceError('session-lost', `${what}: the session is over`)
  const trouble = line.trouble()
  return new MillraceError(trouble.code, `${what}: ${trouble.message}`, { hint: trouble.hint, retryable: true })
}

const beatsInSession = 5

/** Everything that goes over the line: with a deadline, and a fault for every number that is not `known`. */
function asker(line: Line, open: Operations, phase: () => Phase): AskOp {
  return async <A extends unknown[]>(
    { what, kind, beat }: Asked,
    go: (client: Client, done: Done<A>) => void,
    known: (code: number) => boolean,
  ) => {
    if (!line.open()) throw closedFault(phase(), line, { what, kind })
    const answered = await open.ask<A>({
      ms: beat ? Math.floor(line.timeoutMs() / beatsInSession) : coordinationTimeoutMs,
      go: done => go(line.client, done),
      unanswered: why =>
        phase() === 'lost' && kind === 'read'
          ? new MillraceError('session-lost', `${what}: ${why}`)
          : unanswered(kind, `${what}: ${why}`),
      late: why => line.cut(`${what}: ${why}`),
    })
    const { error } = answered
    if (error === 0 || known(error)) return answered
    const fault = faultOfCode(error, what, kind)
    if (error === zookeeperError.saslRequired || error === zookeeperError.authFailed) {
      line.deny(faultOf(fault, 'coordination-denied'))
    }
    throw fault
  }
}

const never = () => false

function documents({ root, access, ask }: Session): Pick<Coordinator, 'read' | 'write' | 'beat' | 'children'> {
  return {
    async read(path) {
      const { error, answer } = await ask<[Buffer | undefined, Stat]>(
        { what: `read ${path}`, kind: 'read' },
        (client, done) => client.getData(absolute(root, path), done),
        isMissing,
      )
      const [data, stat] = answer
      return error !== 0 || !stat ? null : nodeOf(data, stat)
    },
    async write(ops) {
      refuseTooLarge(ops)
      const what = `write ${ops.map(op => op.path).join(', ')}`
      const { error, answer } = await ask<[OpResult[]]>(
        { what: what.slice(0, 200), kind: 'write' },
        (client, done) => commit(client, ops, { root, access: access() }, done),
        () => true,
      )
      const results = answer[0] ?? []
      const written = error === 0 || failedAt(results) ? writtenOf(ops, results, root) : null
      if (written) return written
      const failed = failedAt(results)
      throw faultOfCode(failed?.code ?? error, `write ${ops[failed?.index ?? 0]?.path}`, 'write')
    },
    async beat(path, data, version) {
      const { error, answer } = await ask<[Stat]>(
        { what: `beat ${path}`, kind: 'write', beat: true },
        (client, done) => client.setData(absolute(root, path), Buffer.from(data), version, done),
        code => refusalOf(code) !== null,
      )
      if (error === 0) return answer[0]?.version ?? version + 1
      throw new MillraceError('session-lost', `${path}: the document of this session is not there as it was left`)
    },
    async children(path) {
      const { answer } = await ask<[string[], Stat]>(
        { what: `children ${path}`, kind: 'read' },
        (client, done) => client.getChildren(absolute(root, path), done),
        isMissing,
      )
      return answer[0] ?? []
    },
  }
}

function isMissing(code: number): boolean {
  return code === zookeeperError.noNode
}

function nodeOf(data: Buffer | undefined, stat: Stat): Node {
  const ephemeral = stat.ephemeralOwner.some(byte => byte !== 0)
  return {
    data: data?.toString('utf8') ?? '',
    version: stat.version,
    tag: stat.mzxid.toString('hex'),
    created: stat.czxid.toString('hex'),
    owner: ephemeral ? stat.ephemeralOwner.toString('hex') : null,
  }
}

/** The children of a path that is not there cannot be watched: until then its coming is. */
function arming(ask: AskOp, root: string): Arm {
  return (path, kind, fired, gone) => {
    const full = absolute(root, path)
    const asked = { what: `watch ${path}`, kind: 'read' } as const
    const exists = () => ask<[Stat | null]>(asked, (client, done) => client.exists(full, fired, done), never)
    const children = async () => {
      const { error } = await ask<[string[], Stat]>(
        asked,
        (client, done) => client.getChildren(full, fired, done),
        isMissing,
      )
      // Made between the two questions: that is a change.
      if (error !== 0 && (await exists()).answer[0]) fired()
    }
    const armed = kind === 'data' ? exists() : children()
    armed.catch(gone)
  }
}
