import { ACL, type Client, type Done, type Stat } from 'node-zookeeper-client'
import { MillraceError } from '../../errors.ts'
import { accessFor, accessOf, namesIn } from './access.ts'
import { zookeeperError } from './decide/faultOfCode.ts'
import type { Login } from './line.ts'
import type { Answer } from './operations.ts'

/** Asks, and rejects with the fault of every number but those in `known`. */
export type Ask = <A extends unknown[]>(
  what: string,
  go: (client: Client, done: Done<A>) => void,
  known: number[],
) => Promise<Answer<A>>

/**
 * Makes the root of the fleet if it is missing, closed to others when there is a login (C-35), and rejects with
 * `coordination-denied` when it is somebody else's: nothing is to be written there. The nodes above it are for all.
 * `logins`: all that the session has, the newest last.
 */
export async function ensureChroot(chroot: string, logins: readonly Login[], ask: Ask): Promise<void> {
  const login = logins.at(-1) ?? null
  const there = await ask<[Stat | null]>(`exists ${chroot}`, (client, done) => client.exists(chroot, done), [])
  if (!there.answer[0]) {
    for (let end = chroot.indexOf('/', 1); end > 0; end = chroot.indexOf('/', end + 1)) {
      await make(chroot.slice(0, end), ACL.OPEN_ACL_UNSAFE, ask)
    }
    await make(chroot, accessFor(login), ask)
  }
  const { answer } = await ask<[ACL[], Stat]>(`getACL ${chroot}`, (client, done) => client.getACL(chroot, done), [])
  const [acls = [], stat] = answer
  const access = accessOf(acls, logins)
  if (access === 'ours' || (access === 'open' && !login)) return
  if (access === 'others') {
    throw new MillraceError('coordination-denied', `${chroot} is ${namesIn(acls)}'s`, {
      hint: login
        ? `Check the secret of coordination.auth (user ${login.user}), or name another path in coordination.zookeeper.`
        : 'Set coordination.auth, or name another path in coordination.zookeeper.',
    })
  }
  if (stat && stat.numChildren > 0) {
    throw new MillraceError('coordination-denied', `${chroot} is open to everybody, and has documents`, {
      hint: `A fleet ran there without coordination.auth. Stop it, close the path with setAcl -R, or name another one.`,
    })
  }
  await ask<[Stat]>(`setACL ${chroot}`, (client, done) => client.setACL(chroot, accessFor(login), -1, done), [])
}

async function make(path: string, access: ACL[], ask: Ask): Promise<void> {
  const nothing = Buffer.alloc(0)
  const go = (client: Client, done: Done<[string]>) => client.create(path, nothing, access, 0, done)
  // Another process may make it at the same moment.
  await ask<[string]>(`create ${path}`, go, [zookeeperError.nodeExists])
}
