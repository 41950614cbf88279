import type { Op, Refused } from '../../../engine/ports/coordinator.ts'
import type { Network } from '../network.ts'
import type { World } from '../world.ts'
import { type ClientHost, makeClients } from './clients.ts'
import { type Change, makeTree, type Tree } from './tree.ts'

/** What a leader has committed. `ends`: that session. */
export type Txn = { zxid: number; changes: readonly Change[]; session: string; host: string; ends: boolean }
export type Proposal = {
  session: string
  ops: readonly Op[]
  does: 'write' | 'begin' | 'end'
  /** Of the member where the client is, when the member has it; not called when it never will. */
  answer(result: Result): void
  member: string
  /** Of a session that begins. */
  timeoutMs: number
  host: string
}
export type Result =
  | { is: 'done'; paths: string[]; versions: number[] }
  | { is: 'refused'; refused: Refused }
  | { is: 'expired' }
  | { is: 'moved' }

/** `host`: the process that has it. */
export type Session = { id: string; timeoutMs: number; expiresMs: number; member: string; host: string }

export type Member = {
  name: string
  up: boolean
  /** Leads or follows, and takes clients. */
  serves: boolean
  tree: Tree
  /** How much of the log it has. */
  applied: number
  /** A follower that lags by so much. */
  lagMs: number
  /** Pings and reads of its clients since the last ping of its leader (C-120). */
  touched: Set<string>
  clients: ClientHost
  /** Since when it and its leader do not reach each other. */
  aloneSinceMs: number | null
  applying: { atMs: number; upTo: number } | null
  /** Called when it has this much of the log. */
  waits: { index: number; run: () => void }[]
}

/** Three members of ZooKeeper: one log, one leader, followers that lag, sessions that the leader ends (C-110). */
export type Ensemble = {
  members: readonly Member[]
  leader(): Member | null
  /** The newest state that is committed. */
  tree: Tree
  /** Told of each change when it is committed. */
  onCommit(tell: (txn: Txn) => void): void
  kill(member: Member): void
  start(member: Member): void
  /** Lines between members have changed. */
  lookAgain(): void
  /** Ends a session before its time, as late touches may (C-120). */
  expire(session: string): void
  sessions: ReadonlyMap<string, Session>
  /** How long a disk takes, for all. */
  disk: { fromMs: number; toMs: number }
  /** Hints that get lost (C-48). */
  hints: { lossShare: number }
  /** Writes that match are held back at the member, once. */
  hold: { matches: ((session: string, ops: readonly Op[]) => boolean) | null; ms: number }
  propose(from: Member, proposal: Proposal): void
  /** Whether the leader still knows the session; asked over the line to it, no answer when that is cut. */
  revalidate(from: Member, session: string, answer: (is: Session | null) => void): void
}

/** syncLimit × tickTime: so long members hold on to each other without an answer. */
const syncMs = 10_000

export function makeEnsemble(world: World, network: Network, tickMs = 2_000): Ensemble {
  const log: Txn[] = []
  const tree = makeTree()
  const sessions = new Map<string, Session>()
  const told: ((txn: Txn) => void)[] = []
  let leader: Member | null = null
  let queue: { dueMs: number; proposal: Proposal }[] = []
  let pumping = () => {}
  let electing = false
  let born = 0

  const reaches = (a: Member, b: Member) =>
    a.up && b.up && !network.line(a.name, b.name).blocked && !network.line(b.name, a.name).blocked
  const hasQuorum = (one: Member) => members.some(other => other !== one && reaches(one, other) && other.serves)

  const ensemble: Ensemble = {
    members: [],
    leader: () => leader,
    tree,
    onCommit: tell => void told.push(tell),
    sessions,
    disk: { fromMs: 0.3, toMs: 3 },
    hints: { lossShare: 0 },
    hold: { matches: null, ms: 0 },
    kill(member) {
      if (!member.up) return
      world.note(`${member.name} down`)
      member.up = false
      network.down(member.name)
      stopServing(member)
      if (member === leader) fall()
      lookAgain()
    },
    start(member) {
      if (member.up) return
      world.note(`${member.name} up`)
      member.up = true
      network.listen(member.name, (wire, from) => member.clients.accept(wire, from))
      lookAgain()
    },
    lookAgain: () => lookAgain(),
    expire(id) {
      if (leader && sessions.has(id)) enqueue(endOf(id))
    },
    propose(from, proposal) {
      const toLeader = () => {
        if (leader === null || !from.serves) return
        const session = sessions.get(proposal.session)
        if (proposal.does !== 'begin' && !session) return proposal.answer({ is: 'expired' })
        if (session && session.member !== from.name) return proposal.answer({ is: 'moved' })
        if (session) touch(session)
        enqueue(proposal)
      }
      if (from === leader) toLeader()
      else overLine(from, toLeader)
    },
    revalidate(from, id, answer) {
      const ask = () => {
        const session = sessions.get(id) ?? null
        if (session) {
          session.member = from.name
          touch(session)
        }
        if (from === leader) answer(session)
        else if (leader) world.after(world.spanMs(0.2, 2), () => from.serves && answer(session))
      }
      if (from === leader) ask()
      else overLine(from, () => leader && from.serves && ask())
    },
  }

  const members: Member[] = ['zk1', 'zk2', 'zk3'].map(name => {
    const member: Member = {
      ...{ name, up: false, serves: false, tree: makeTree(), applied: 0, lagMs: 0, touched: new Set<string>() },
      ...{ aloneSinceMs: null, applying: null, waits: [] },
      clients: null as unknown as ClientHost,
    }
    member.clients = makeClients(world, ensemble, member, () => `s${++born}`)
    return member
  })
  Object.assign(ensemble, { members })

  /** What a follower sends its leader while the line is cut comes when it is mended, if both still hold on. */
  function overLine(from: Member, run: () => void): void {
    const to = leader
    if (to === null) return
    if (reaches(from, to)) return void world.after(world.spanMs(0.2, 2), () => leader === to && run())
    const stop = world.after(100, () => {
      stop()
      if (leader === to && from.serves) overLine(from, run)
    })
  }

  function touch(session: Session): void {
    const atMs = world.nowMs() + session.timeoutMs
    session.expiresMs = (Math.floor(atMs / tickMs) + 1) * tickMs
  }

  function enqueue(proposal: Proposal): void {
    const last = queue.at(-1)?.dueMs ?? 0
    const { fromMs, toMs } = ensemble.disk
    queue.push({ dueMs: Math.max(last, world.nowMs() + world.spanMs(fromMs, toMs) + world.spanMs(0.4, 3)), proposal })
    pump()
  }

  function pump(): void {
    pumping()
    while (leader !== null && queue.length > 0 && hasQuorum(leader)) {
      const first = queue[0] as (typeof queue)[number]
      if (first.dueMs > world.nowMs()) {
        pumping = world.at(first.dueMs, pump)
        return
      }
      queue.shift()
      commit(first.proposal)
    }
  }

  function commit(proposal: Proposal): void {
    const { session, does, host } = proposal
    const zxid = log.length + 1
    if (does === 'write' && !sessions.has(session)) return reply(proposal, { is: 'expired' })
    const ops =
      does === 'end' ? tree.ownedBy(session).map((path): Op => ({ do: 'remove', path, version: null })) : proposal.ops
    const applied = tree.apply(ops, { session, zxid })
    const txn: Txn = { zxid, changes: applied.done ? applied.changes : [], session, host, ends: does === 'end' }
    log.push(txn)
    tree.take(txn.changes)
    if (does === 'end') sessions.delete(session)
    if (does === 'begin') beginOf(proposal)
    for (const tell of told) tell(txn)
    for (const member of members)
      if (member.serves && leader && (member === leader || reaches(member, leader))) bring(member)
    const { done: _, ...rest } = applied as Extract<typeof applied, { done: true }>
    reply(proposal, applied.done ? { is: 'done', ...rest } : { is: 'refused', refused: applied.refused })
  }

  /** The client is answered by its member, and not before that has what was committed. */
  function reply(proposal: Proposal, result: Result): void {
    const member = members.find(one => one.name === proposal.member)
    if (!member?.serves) return
    const index = log.length
    if (member.applied >= index) proposal.answer(result)
    else member.waits.push({ index, run: () => proposal.answer(result) })
  }

  function bring(member: Member): void {
    if (member === leader) return take(member, log.length)
    const atMs = world.nowMs() + world.spanMs(0.2, 2) + member.lagMs
    const { applying } = member
    if (applying !== null && applying.atMs >= atMs - 2) {
      applying.upTo = log.length
      return
    }
    const next = { atMs: Math.max(atMs, applying?.atMs ?? 0), upTo: log.length }
    member.applying = next
    world.at(next.atMs, () => {
      if (member.applying === next) member.applying = null
      if (member.serves) take(member, next.upTo)
    })
  }

  function take(member: Member, upTo: number): void {
    while (member.applied < upTo) {
      const txn = log[member.applied] as Txn
      member.applied++
      member.tree.take(txn.changes)
      member.clients.applied(txn)
    }
    const due = member.waits.filter(wait => wait.index <= member.applied)
    member.waits = member.waits.filter(wait => wait.index > member.applied)
    for (const wait of due) wait.run()
  }

  function stopServing(member: Member): void {
    member.serves = false
    Object.assign(member, { applying: null, waits: [], aloneSinceMs: null })
    member.touched.clear()
    member.clients.dropAll()
  }

  /** What it had not committed may have been logged by enough others, in order, or not. */
  function fall(): void {
    world.note(`${leader?.name} leads no more`)
    leader = null
    queue = queue.slice(0, Math.floor(world.chance() * (queue.length + 1)))
    for (const one of queue) one.proposal = { ...one.proposal, answer() {} }
  }

  function lookAgain(): void {
    const nowMs = world.nowMs()
    if (leader !== null) {
      if (hasQuorum(leader)) leader.aloneSinceMs = null
      else if (leader.aloneSinceMs === null) leader.aloneSinceMs = nowMs
    }
    for (const member of members) {
      if (!member.up || member === leader) continue
      if (leader !== null && reaches(member, leader)) {
        const wasAlone = member.aloneSinceMs !== null
        member.aloneSinceMs = null
        if (!member.serves) world.after(world.spanMs(50, 400), () => join(member))
        else if (wasAlone) bring(member)
      } else if (member.serves && member.aloneSinceMs === null) member.aloneSinceMs = nowMs
      // Its connection to a leader that is down is reset.
      if (member.serves && leader === null) stopServing(member)
    }
    if (leader === null) elect()
    pump()
  }

  function join(member: Member): void {
    if (member.serves || leader === null || !reaches(member, leader)) return
    member.serves = true
    take(member, log.length)
    lookAgain()
  }

  function elect(): void {
    const able = members.filter(one => one.up && members.some(other => other !== one && reaches(one, other)))
    if (electing || able.length === 0) return
    electing = true
    world.after(world.spanMs(200, 800), () => {
      electing = false
      const still = able.filter(one => one.up && members.some(other => other !== one && reaches(one, other)))
      const found = still.length > 0 ? world.pick(still) : null
      if (leader !== null || found === null) return lookAgain()
      leader = found
      world.note(`${found.name} leads`)
      found.serves = true
      found.aloneSinceMs = null
      take(found, log.length)
      for (const session of sessions.values()) touch(session)
      for (const other of members) if (other !== found && reaches(found, other)) join(other)
      for (const one of queue) one.dueMs = world.nowMs()
      lookAgain()
    })
  }

  function endOf(session: string): Proposal {
    return { session, ops: [], does: 'end', answer() {}, member: leader?.name ?? '', timeoutMs: 0, host: '' }
  }

  function beginOf({ session: id, timeoutMs, member, host }: Proposal): void {
    const session = { id, timeoutMs, expiresMs: 0, member, host }
    touch(session)
    sessions.set(id, session)
  }

  function tick(count: number): void {
    world.after(tickMs / 2, () => tick(count + 1))
    const nowMs = world.nowMs()
    for (const member of members) {
      if (member.aloneSinceMs === null) continue
      const patienceMs = member === leader && members.every(one => one === leader || !one.up) ? 0 : syncMs
      if (nowMs - member.aloneSinceMs < patienceMs) continue
      stopServing(member)
      if (member === leader) fall()
      lookAgain()
    }
    if (leader === null) return
    for (const member of members) {
      if (!member.serves || (member !== leader && !reaches(member, leader))) continue
      for (const id of member.touched) {
        const session = sessions.get(id)
        if (session?.member === member.name) touch(session)
      }
      member.touched.clear()
    }
    if (count % 2 === 0 && hasQuorum(leader))
      for (const { id, expiresMs } of sessions.values()) if (expiresMs <= nowMs) enqueue(endOf(id))
  }

  world.after(world.spanMs(0, tickMs), () => tick(0))
  for (const member of members) ensemble.start(member)
  return ensemble
}
