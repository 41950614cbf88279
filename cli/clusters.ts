import { plainSecurity } from '../engine/adapters/kafka/login.ts'
import type { ClusterConfig } from '../engine/adapters/kafka/openKafka.ts'
import { MillraceError } from '../engine/errors.ts'
import { addressHint, addressOf, type HostPort } from '../engine/process/configAddress.ts'

/**
 * `host:port,host:port` of a flag as a cluster. An IPv6 address stands in brackets. Throws `config-invalid` that
 * names the flag and the piece at fault.
 */
export function clusterOf(name: string, flag: string, brokers: string): ClusterConfig {
  const found = brokers.split(',').map(piece => brokerOf(piece.trim(), flag))
  return { name, brokers: found, clientId: 'millrace', addresses: new Map(), security: plainSecurity }
}

function brokerOf(piece: string, flag: string): HostPort {
  const address = addressOf(piece)
  if (address === null) throw refused(piece, flag)
  return address
}

function refused(piece: string, flag: string): MillraceError {
  const found = piece === '' ? 'nothing' : `'${piece}'`
  const example = `${flag} east:9092, or ${flag} east1:9092,east2:9092`
  const guess = addressHint(piece, `${flag} `)
  const hint = guess === 'without the scheme' ? `${guess}: ${example}` : (guess ?? example)
  return new MillraceError('config-invalid', `${flag}: expected HOST:PORT, found ${found}`, { hint })
}
