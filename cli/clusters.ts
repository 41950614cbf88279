import { MillraceError } from '../engine/errors.ts'
import type { ClusterSettings } from '../engine/process/config.ts'
import { addressHint, addressOf, type HostPort } from '../engine/process/configAddress.ts'
import type { SecuritySettings } from '../engine/process/configSecurity.ts'
import type { NamedCluster } from '../engine/wiring/clusters.ts'

/** A file with the keys of one entry of `clusters:`, as `--source-config` names it. */
export type ClusterFile = { flag: string; path: string; settings: ClusterSettings }

/** Said here: a mirror started by flags loads no schemas. */
const plain: SecuritySettings = { mechanism: 'none', secret: null, tls: null, loopbackOnly: false }

/**
 * `host:port,host:port` of a flag as a cluster, with what a file says of it. An IPv6 address stands in brackets.
 * Throws `config-invalid` that names the flag and the piece at fault.
 */
export function clusterOf(name: string, flag: string, brokers: string, file: ClusterFile | null = null): NamedCluster {
  if (file !== null && file.settings.brokers.length > 0) {
    return { name, ...file.settings, keyName: key => `security.${key} in the file of ${file.flag}` }
  }
  const found = brokers.split(',').map(piece => brokerOf(piece.trim(), flag))
  const flagged = file?.flag ?? (flag === '--from' ? '--source-config' : '--destination-config')
  const more = file?.settings ?? { clientId: 'millrace', addresses: new Map(), security: plain }
  return { name, ...more, brokers: found, keyName: key => `security.${key} in the file of ${flagged}` }
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
