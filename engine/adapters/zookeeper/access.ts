import { createHash } from 'node:crypto'
import { ACL, Id, Permission } from 'node-zookeeper-client'
import type { Login } from './line.ts'

/** The access list of every node of ours: everything for our login, nothing for others; without one it is open (C-35). */
export function accessFor(login: Login | null): ACL[] {
  if (!login) return ACL.OPEN_ACL_UNSAFE
  const digest = createHash('sha1').update(`${login.user}:${login.password.reveal()}`).digest('base64')
  return [new ACL(Permission.ALL, new Id('digest', `${login.user}:${digest}`))]
}

export type Access = 'ours' | 'open' | 'others'

/** `logins`: all that the session has. */
export function accessOf(found: readonly ACL[], logins: readonly Login[]): Access {
  const all = (id: Id) =>
    found.some(one => one.permission === Permission.ALL && one.id.scheme === id.scheme && one.id.id === id.id)
  if (logins.flatMap(accessFor).some(ours => all(ours.id))) return 'ours'
  return all(new Id('world', 'anyone')) ? 'open' : 'others'
}

/** Who may, in words: no hash of a password. */
export function namesIn(found: readonly ACL[]): string {
  return found.map(({ id }) => `${id.scheme}:${id.id.split(':')[0]}`).join(', ')
}
