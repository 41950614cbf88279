import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { allOrNone } from './allOrNone.ts'
import { startChild } from './child.ts'
import { RigError } from './errors.ts'
import { type Jars, jarsOf } from './jars.ts'
import { jvmFiles } from './jvmFiles.ts'
import { zookeeperMemoryMb, zookeeperReadyMs } from './limits.ts'
import type { Part, RigContext, Running, Words } from './part.ts'
import { type FaultProxy, proxy } from './proxy.ts'
import { runningGroup, runningProcess, untilReady } from './running.ts'
import { findTool, type Tool } from './tools.ts'
import { zookeeperJars } from './versions.ts'
import { fourLetters } from './zookeeper/fourLetters.ts'
import { type MemberPorts, memberProperties, saslFile } from './zookeeper/properties.ts'

/** ZooKeeper's own `digest` scheme (`addauth digest name:password`) is served always and needs no option. */
export type ZookeeperOptions = {
  /** 1 or 3; default 1. */
  members?: 1 | 3
  /** Default: ZooKeeper's own, 20 ticks: 10 s with one member, 20 s with three. */
  maxSessionTimeoutMs?: number
  /** A fault proxy on each line from one member to another, for `cutOff`; three members only. */
  linked?: boolean
  /** Serves nobody who has not logged in by SASL (DIGEST-MD5); `address.user` may. */
  demandSasl?: boolean
}

type Plan = { members: 1 | 3; maxSessionTimeoutMs: number | null; demandSasl: boolean; linked: boolean }

export type ZookeeperAddress = {
  /** `host:port,…` over all members. */
  bootstrap: string
  /** Who may log in by SASL; null without `demandSasl`. */
  user: { name: string; password: string } | null
}

export type MemberAddress = { id: number; host: string; port: number }

export interface Zookeeper extends Running<ZookeeperAddress> {
  /** Each member for itself, in the order of `id`, from 1. */
  readonly members: Running<MemberAddress>[]
  /** A connect string with a root of its own, new at each call: `127.0.0.1:20001/millrace-<name>-<random>`. The node is not made. */
  chroot(name: string): string
  /** This member neither hears the others nor is heard by them, and serves its clients; with `linked`. Null: no more. */
  cutOff(id: number | null): Promise<void>
}

const saslUser = { name: 'millrace', password: 'millrace-secret' }

/** One ZooKeeper, or an ensemble of three. */
export const zookeeper: Part<ZookeeperOptions, Zookeeper> = {
  name: 'zookeeper',
  async needs(_, cache) {
    const needed: Tool[] = ['java']
    if (!(await cache.has(cache.path(zookeeperJars.kind, zookeeperJars.pom)))) needed.push('mvn')
    return needed
  },
  memoryMb: options => planOf(options).members * zookeeperMemoryMb,
  read: readZookeeperWords,
  start: (options, ctx) => startEnsemble(planOf(options), ctx),
}

function planOf(options: ZookeeperOptions): Plan {
  return {
    members: options.members ?? 1,
    maxSessionTimeoutMs: options.maxSessionTimeoutMs ?? null,
    demandSasl: options.demandSasl ?? false,
    linked: options.linked ?? false,
  }
}

/** `zookeeper=3,maxSessionTimeoutMs=4000,demandSasl` */
function readZookeeperWords(words: Words): ZookeeperOptions {
  const options: ZookeeperOptions = {}
  if (words.count === 1 || words.count === 3) options.members = words.count
  else if (words.count !== null)
    throw new RigError('rig-usage', `zookeeper: ${words.count} members wanted, 1 or 3 are possible`)
  for (const flag of words.flags) {
    if (flag === 'demandSasl') options.demandSasl = true
    else if (flag === 'linked') options.linked = true
    else throw unknown(flag)
  }
  for (const [name, value] of Object.entries(words.values)) {
    if (name === 'maxSessionTimeoutMs' && /^[1-9]\d*$/.test(value)) options.maxSessionTimeoutMs = Number(value)
    else throw unknown(`${name}=${value}`)
  }
  return options
}

function unknown(word: string): RigError {
  return new RigError(
    'rig-usage',
    `zookeeper: unknown option ${word}; known: demandSasl, linked, maxSessionTimeoutMs=<n>`,
  )
}

async function startEnsemble(plan: Plan, ctx: RigContext): Promise<Zookeeper> {
  const jars = await jarsOf(zookeeperJars, ctx)
  const ensemble: MemberPorts[] = []
  for (let id = 1; id <= plan.members; id++) {
    const [client, peer, election] = [await ctx.ports.take(), await ctx.ports.take(), await ctx.ports.take()]
    ensemble.push({ id, client, peer, election })
  }
  ctx.progress('starting')
  const up = new Set<number>()
  const links = plan.linked ? await openLinks(ensemble, ctx) : []
  const members = await allOrNone(ctx, ensemble, (ports, own) =>
    startMember(plan, jars, asSeenBy(ports, ensemble, links), ports, up, own),
  )
  const bootstrap = ensemble.map(({ client }) => `127.0.0.1:${client}`).join(',')
  const address = { bootstrap, user: plan.demandSasl ? saslUser : null }
  const chroot = (name: string) => `${bootstrap}/millrace-${name}-${randomBytes(6).toString('hex')}`
  const cutOff = async (id: number | null) => {
    const hole = { blackHole: true }
    const set = ({ from, to, proxies }: Link) =>
      proxies.map(line => (from === id || to === id ? line.set(hole, hole) : line.heal()))
    await Promise.all(links.flatMap(set))
  }
  return Object.assign(runningGroup(ctx.name, address, members), { members, chroot, cutOff })
}

/** The line by which one member reaches another, for peers and for elections. */
type Link = { from: number; to: number; seen: MemberPorts; proxies: FaultProxy[] }

async function openLinks(ensemble: MemberPorts[], ctx: RigContext): Promise<Link[]> {
  const links: Link[] = []
  for (const { id: from } of ensemble) {
    for (const to of ensemble) {
      if (to.id === from) continue
      const open = (port: number) => proxy({ host: '127.0.0.1', port }, { ports: ctx.ports })
      const [peer, election] = [await open(to.peer), await open(to.election)]
      ctx.atEnd(async () => void (await Promise.all([peer.stop(), election.stop()])))
      const seen = { ...to, peer: peer.address.port, election: election.address.port }
      links.push({ from, to: to.id, seen, proxies: [peer, election] })
    }
  }
  return links
}

/** The ensemble as one member knows it: itself, and the others by its lines to them. */
function asSeenBy({ id }: MemberPorts, ensemble: MemberPorts[], links: Link[]): MemberPorts[] {
  return ensemble.map(other => links.find(({ from, to }) => from === id && to === other.id)?.seen ?? other)
}

/** `up` holds the members whose process runs: whether this one can be asked to serve depends on the others. */
async function startMember(
  plan: Plan,
  jars: Jars,
  ensemble: MemberPorts[],
  ports: MemberPorts,
  up: Set<number>,
  ctx: RigContext,
): Promise<Running<MemberAddress>> {
  const java = await findTool('java')
  const name = ensemble.length === 1 ? ctx.name : `${ctx.name}.${ports.id}`
  const folder = join(ctx.dir, ctx.name)
  const dataDir = join(folder, `data-${ports.id}`)
  await mkdir(dataDir, { recursive: true })
  await writeFile(join(dataDir, 'myid'), `${ports.id}\n`)
  const file = join(folder, `zoo-${ports.id}.cfg`)
  await writeFile(file, memberProperties(ensemble, ports, dataDir, plan))
  const flags: string[] = []
  if (plan.demandSasl) {
    const sasl = join(folder, 'sasl.conf')
    await writeFile(sasl, saslFile(saslUser), { mode: 0o600 })
    flags.push(`-Djava.security.auth.login.config=${sasl}`)
  }
  const args = [...jvmFlags, ...jvmFiles(folder), ...flags, '-cp', jars.classPath, serverClass, file]
  const launch = async () => {
    const child = await startChild({ name, command: java.path, args, ready: readyLine }, ctx)
    up.add(ports.id)
    child.exited.then(() => up.delete(ports.id))
    await untilReady(child, name, { limitMs: zookeeperReadyMs, ask: () => askMember(ports, ensemble.length, up) })
    return child
  }
  return runningProcess(ctx, name, { id: ports.id, host: '127.0.0.1', port: ports.client }, launch)
}

const serverClass = 'org.apache.zookeeper.server.quorum.QuorumPeerMain'
/** Written before the bind, so the request decides. */
const readyLine = /binding to port/
const jvmFlags = [
  '-Xmx128m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Djava.awt.headless=true',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=info',
  '-Dorg.slf4j.simpleLogger.showDateTime=true',
  '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
]

/**
 * Null when the member serves. One that is restarted while most of the others are down cannot serve, and is ready when
 * it says so.
 */
async function askMember(ports: MemberPorts, members: number, up: Set<number>): Promise<string | null> {
  const answer = await fourLetters(ports.client, 'srvr')
  if (answer === '') return 'an empty answer'
  if (/^Mode: /m.test(answer)) return null
  return up.size > members / 2 ? answer.trim() : null
}
