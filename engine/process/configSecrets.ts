import type { SecretKind } from '../credentials/decide/parseSecret.ts'
import { MillraceError } from '../errors.ts'
import type { SecretPlace } from '../ports/secrets.ts'
import type { Config } from './config.ts'
import { type ConfigFault, type ConfigPath, pathText } from './configFault.ts'
import type { SecuritySettings } from './configSecurity.ts'
import type { ConfigText } from './configYaml.ts'

/** A secret that a file names, and where it does. */
export type NamedSecret = { kind: SecretKind; place: SecretPlace; path: ConfigPath }

const kinds = {
  tls: 'client-certificate',
  plain: 'password',
  'scram-sha-256': 'password',
  'scram-sha-512': 'password',
} as const

/** Those of a `security:` block, which stands at `at`. */
export function secretsOf({ mechanism, secret, tls }: SecuritySettings, at: ConfigPath): NamedSecret[] {
  const found: NamedSecret[] = []
  const add = (kind: SecretKind, place: SecretPlace | null | undefined, path: ConfigPath) => {
    if (place) found.push(named(kind, place, [...at, ...path]))
  }
  if (mechanism !== 'none') add(kinds[mechanism], secret, [])
  add('authority', tls?.ca, ['tls', 'ca'])
  add('client-certificate', tls?.certificate, ['tls', 'certificate'])
  return found
}

/** Those of what is not of one cluster. */
export function secretsOfBlocks({ coordination, api }: Pick<Config, 'coordination' | 'api'>): NamedSecret[] {
  const found: NamedSecret[] = []
  if (coordination?.auth) found.push(named('zk-digest', coordination.auth, ['coordination', 'auth']))
  if (api?.tokens) found.push(named('api-tokens', api.tokens, ['api', 'tokens']))
  return found
}

function named(kind: SecretKind, place: SecretPlace, path: ConfigPath): NamedSecret {
  return { kind, place, path: [...path, 'file' in place ? 'file' : 'env'] }
}

/**
 * What is wrong with secrets that a file names, as faults of the file that name the code and no value. `read` rejects
 * with the `secret-*` fault of one.
 */
export async function secretFaults(
  named: readonly NamedSecret[],
  how: {
    text: Pick<ConfigText, 'placeOf'>
    read: (kind: SecretKind, place: SecretPlace) => Promise<unknown>
  },
): Promise<ConfigFault[]> {
  const faults = await Promise.all(
    named.map(async ({ kind, place, path }) => {
      const error = await how.read(kind, place).then(
        () => null,
        (cause: unknown) => cause,
      )
      if (error === null) return []
      if (!(error instanceof MillraceError)) throw error
      const found = `${error.code}: ${error.message}`
      const expected = `a secret of kind ${kind}`
      return [{ path: pathText(path), ...how.text.placeOf(path, 'value'), found, expected, hint: error.hint }]
    }),
  )
  return faults.flat()
}
