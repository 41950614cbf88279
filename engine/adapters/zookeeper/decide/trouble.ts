import type { Fault } from '../../../errors.ts'
import type { Server } from './connectString.ts'

/** Why there is no connection, for people: each server with what it said last, and since when (C-70). */
export function troubleOf(
  servers: readonly Server[],
  said: ReadonlyMap<string, string>,
  since: { ms: number; denied: Fault | null },
): Fault {
  const seconds = Math.floor(since.ms / 1000)
  if (since.denied) return { ...since.denied, message: `${since.denied.message} (for ${seconds} s)` }
  const each = servers.map(serverName).map(name => `${name} (${said.get(name) ?? 'not tried yet'})`)
  return {
    code: 'coordination-unreachable',
    message: `no ZooKeeper server serves us for ${seconds} s: ${each.join(', ')}`,
    hint: 'Check the addresses of coordination.zookeeper and the network between.',
  }
}

export function serverName(server: Server): string {
  return `${server.host}:${server.port}`
}
