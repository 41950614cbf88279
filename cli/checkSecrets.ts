import { plainSecrets } from '../engine/adapters/local/plainSecrets.ts'
import { readChecked } from '../engine/credentials/checkedSecret.ts'
import type { SecretKind } from '../engine/credentials/decide/parseSecret.ts'
import type { SecretPlace } from '../engine/ports/secrets.ts'
import type { ClusterSettings, Config } from '../engine/process/config.ts'
import type { ConfigFault } from '../engine/process/configFault.ts'
import { secretFaults, secretsOf, secretsOfBlocks } from '../engine/process/configSecrets.ts'
import { type ConfigText, readYaml } from '../engine/process/configYaml.ts'
import { locatedSecret } from '../engine/wiring/clusters.ts'

/** What is wrong with the secrets that a configuration names, with the places where it names them. */
export function checkSecrets(file: string, source: string, config: Config): Promise<ConfigFault[]> {
  const ofClusters = [...config.clusters].flatMap(([name, { security }]) =>
    secretsOf(security, ['clusters', name, 'security']),
  )
  const named = [...ofClusters, ...secretsOfBlocks(config)]
  return secretFaults(named, {
    text: readYaml(source),
    read: (kind, place) => read(kind, locatedSecret(place, file)),
  })
}

/** As `checkSecrets`, of a file with the keys of one cluster; `settings` located. */
export function checkCluster({ security }: ClusterSettings, text: ConfigText): Promise<ConfigFault[]> {
  return secretFaults(secretsOf(security, ['security']), { text, read })
}

function read(kind: SecretKind, place: SecretPlace): Promise<unknown> {
  return readChecked(plainSecrets(process.env), kind, place)
}
