import type { SecretKind } from '../credentials/decide/parseSecret.ts'
import { MillraceError } from '../errors.ts'
import type { SecretPlace } from '../ports/secrets.ts'
import { type ConfigFault, type ConfigPath, pathText } from './configFault.ts'
import type { SecuritySettings } from './configSecurity.ts'
import type { ConfigText } from './configYaml.ts'

/** A secret that a `security:` block names. `path`: where, below the block. */
export type NamedSecret = { kind: SecretKind; place: SecretPlace; path: ConfigPath }

const kinds = {
  tls: 'client-certificate',
  plain: 'password',
  'scram-sha-256': 'password',
  'scram-sha-512': 'password',
} as const

function secretsOf({ mechanism, secret, tls }: SecuritySettings): NamedSecret[] {
  const found: NamedSecret[] = []
  const add = (kind: SecretKind, place: SecretPlace | null | undefined, path: ConfigPath) => {
    if (place) found.push({ kind, place, path: [...path, 'file' in place ? 'file' : 'env'] })
  }
  if (mechanism !== 'none') add(kinds[mechanism], secret, [])
  add('authority', tls?.ca, ['tls', 'ca'])
  add('client-certificate', tls?.certificate, ['tls', 'certificate'])
  return found
}

/**
 * What is wrong with the secrets that the blocks name, as faults of the file that name the code and no value. `at` =
 * where a block stands; `read` rejects with the `secret-*` fault of one.
 */
export async function secretFaults(
  blocks: Iterable<{ security: SecuritySettings; at: ConfigPath }>,
  how: { text: Pick<ConfigText, 'placeOf'>; read: (kind: SecretKind, place: SecretPlace) => Promise<unknown> },
): Promise<ConfigFault[]> {
  const named = [...blocks].flatMap(({ security, at }) =>
    secretsOf(security).map(one => ({ ...one, path: [...at, ...one.path] })),
  )
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
