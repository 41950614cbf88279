import { MillraceError } from '../../../errors.ts'

export type Server = { host: string; port: number }
/** `chroot` has no slash at its end; null: none. */
export type Place = { servers: readonly Server[]; chroot: string | null }

const portDefault = 2181
const portMax = 65_535

/** `host:port,host:port/chroot`, as ZooKeeper's own tools take it. Throws `config-invalid` (C-81). */
export function readConnectString(text: string): Place {
  const slash = text.indexOf('/')
  const hosts = slash < 0 ? text : text.slice(0, slash)
  const chroot = slash < 0 ? '' : text.slice(slash).replace(/\/$/, '')
  const refuse = (found: string, hint: string) =>
    new MillraceError('config-invalid', `coordination.zookeeper: ${JSON.stringify(text)}: ${found}`, { hint })
  if (/^[a-z+]+:$/i.test(hosts)) throw refuse('a URL', `Write host:port,host:port/path. ${tunnel}`)
  if (/[[\]]|:[^,]*:/.test(hosts)) throw refuse('an IPv6 address', 'Use a name, or the address of a local tunnel.')
  if (chroot !== '' && !/^(\/[A-Za-z0-9._-]+)+$/.test(chroot)) {
    throw refuse(`the path ${chroot}`, 'Letters, digits, _ - and . between single slashes.')
  }
  if (/\/\.{1,2}(\/|$)/.test(chroot) || /^\/zookeeper(\/|$)/.test(chroot)) {
    throw refuse(`the path ${chroot}`, 'It may not be ., .. or in /zookeeper, which is the server’s own.')
  }
  const servers = hosts.split(',').map(one => {
    const [host = '', port = String(portDefault)] = one.trim().split(':')
    const number = /^\d{1,5}$/.test(port) ? Number(port) : 0
    if (!/^[A-Za-z0-9._-]+$/.test(host))
      throw refuse(`the host ${JSON.stringify(host)}`, 'Write host:port,host:port/path.')
    if (number < 1 || number > portMax) throw refuse(`the port ${port}`, `1 to ${portMax}.`)
    return { host, port: number }
  })
  return { servers, chroot: chroot === '' ? null : chroot }
}

const tunnel = 'TLS to ZooKeeper goes through a local tunnel (stunnel, a sidecar).'
