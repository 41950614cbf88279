import { plainSecrets } from '../adapters/local/plainSecrets.ts'
import { type Credential, currentSecret } from '../credentials/current.ts'
import type { ApiToken } from '../credentials/decide/parseSecret.ts'
import type { Tell } from '../flow/event.ts'
import type { Redactor } from '../flow/redactor.ts'
import type { Clock } from '../ports/clock.ts'
import type { SecretPlace } from '../ports/secrets.ts'
import { locatedSecret } from './clusters.ts'

/** Who may use the API now; a token that is taken out of its file is refused within seconds. */
export type ApiTokens = { tokens(): readonly ApiToken[]; close(): void }

/**
 * The tokens of `api.tokens`, kept current; a change that is bad leaves those before it in use, and is told (K-14).
 * `file` is the configuration that names them. Rejects with the `secret-*` fault that they are refused for.
 */
export async function openApiTokens(
  place: SecretPlace,
  file: string,
  { tell, ...parts }: { clock: Clock; redactor: Redactor; tell: Tell },
): Promise<ApiTokens> {
  const current = currentSecret({
    ...parts,
    kind: 'api-tokens',
    place: locatedSecret(place, file),
    secrets: plainSecrets(process.env),
    tell: event => tell({ ...event, message: `api.tokens: ${event.message}` }),
  })
  let known = tokensOf(await current.get())
  const close = current.onChange(() => {
    // What is read now is good: it is what was just taken, or stays in hand.
    void current.get().then(credential => {
      known = tokensOf(credential)
    })
  })
  return { tokens: () => known, close }
}

function tokensOf(credential: Credential): readonly ApiToken[] {
  return credential.kind === 'api-tokens' ? credential.tokens : []
}
