import { plainSecurity } from '../engine/adapters/kafka/login.ts'
import type { ClusterConfig } from '../engine/adapters/kafka/openKafka.ts'
import { MillraceError } from '../engine/errors.ts'

/**
 * `host:port,host:port` of a flag as a cluster. An IPv6 address stands in brackets. Throws `config-invalid` that
 * names the flag and the piece at fault.
 */
export function clusterOf(name: string, flag: string, brokers: string): ClusterConfig {
  const found = brokers.split(',').map(piece => brokerOf(piece.trim(), flag))
  return { name, brokers: found, clientId: 'millrace', addresses: new Map(), security: plainSecurity }
}

function brokerOf(piece: string, flag: string): { host: string; port: number } {
  const match = /^(?:\[([0-9A-Fa-f:.%a-z]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(piece)
  const port = Number(match?.[3])
  const host = match?.[1] ?? match?.[2]
  if (host === undefined || port < 1 || port > 65_535) throw refused(piece, flag)
  return { host, port }
}

function refused(piece: string, flag: string): MillraceError {
  const found = piece === '' ? 'nothing' : `'${piece}'`
  let hint = `${flag} east:9092, or ${flag} east1:9092,east2:9092`
  if (/^\w+:\/\//.test(piece)) hint = `without the scheme: ${hint}`
  else if ((piece.match(/:/g) ?? []).length > 1) hint = `an IPv6 address stands in brackets: ${flag} [::1]:9092`
  return new MillraceError('config-invalid', `${flag}: expected HOST:PORT, found ${found}`, { hint })
}
