import { dirname, resolve } from 'node:path'
import type { KeyName } from '../adapters/kafka/login.ts'
import type { SecretPlace } from '../ports/secrets.ts'
import type { ClusterSettings, Config } from '../process/config.ts'

/** A cluster that a flag or a file names. `keyName`: what people call a key of its `security:`. */
export type NamedCluster = ClusterSettings & { name: string; keyName: KeyName }

/** Those of a configuration, as they are opened; `file` is where it stands. */
export function clustersOf({ clusters }: Pick<Config, 'clusters'>, file: string): NamedCluster[] {
  return [...clusters].map(([name, settings]) => ({
    name,
    ...located(settings, file),
    keyName: key => `clusters.${name}.security.${key}`,
  }))
}

/** With the files of its secrets by their whole paths. */
export function located(settings: ClusterSettings, file: string): ClusterSettings {
  const place = (of: SecretPlace | null) => of && locatedSecret(of, file)
  const { security } = settings
  const { secret, tls } = security
  const inTls = tls && { ...tls, ca: place(tls.ca), certificate: place(tls.certificate) }
  return { ...settings, security: { ...security, secret: place(secret), tls: inTls } }
}

/** Files are named from the folder of the file that names them. */
export function locatedSecret(place: SecretPlace, file: string): SecretPlace {
  return 'file' in place ? { file: resolve(dirname(file), place.file) } : place
}
