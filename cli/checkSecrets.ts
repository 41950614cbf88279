import { plainSecrets } from '../engine/adapters/local/plainSecrets.ts'
import { readChecked } from '../engine/credentials/checkedSecret.ts'
import type { SecretKind } from '../engine/credentials/decide/parseSecret.ts'
import type { SecretPlace } from '../engine/ports/secrets.ts'
import type { ClusterSettings, Config } from '../engine/process/config.ts'
import type { ConfigFault } from '../engine/process/configFault.ts'
import { secretFaults } from '../engine/process/configSecrets.ts'
import { type ConfigText, readYaml } from '../engine/process/configYaml.ts'
import { located } from '../engine/wiring/clusters.ts'

/** What is wrong with the secrets that a configuration names, with the places where it names them. */
export function checkSecrets(file: string, source: string, { clusters }: Config): Promise<ConfigFault[]> {
  const blocks = [...clusters].map(([name, settings]) => {
    const { security } = located(settings, file)
    return { security, at: ['clusters', name, 'security'] }
  })
  return secretFaults(blocks, { text: readYaml(source), read })
}

/** As `checkSecrets`, of a file with the keys of one cluster; `settings` located. */
export function checkCluster({ security }: ClusterSettings, text: ConfigText): Promise<ConfigFault[]> {
  return secretFaults([{ security, at: ['security'] }], { text, read })
}

function read(kind: SecretKind, place: SecretPlace): Promise<unknown> {
  return readChecked(plainSecrets(process.env), kind, place)
}
