import { faultOf, MillraceError } from '../errors.ts'
import type { Tell } from '../flow/event.ts'
import type { Redactor } from '../flow/redactor.ts'
import { placeName, Secret } from '../flow/secret.ts'
import { secretLookMs } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { PlainSecrets, SecretPlace } from '../ports/secrets.ts'
import { checked } from './checkedSecret.ts'
import type { ApiToken, Parsed, SecretKind } from './decide/parseSecret.ts'

/** What a login is given. Values that are secret are `Secret`s. */
export type Credential =
  | { kind: 'password'; username: string; password: Secret<string> }
  | { kind: 'client-certificate'; certificate: string; key: Secret<string>; passphrase: Secret<string> | null }
  | { kind: 'authority'; certificate: string }
  | { kind: 'zk-digest'; user: string; password: Secret<string> }
  | { kind: 'api-tokens'; tokens: readonly ApiToken[] }

/** One secret of a process (CREDENTIALS K-52). */
export type Current = {
  /** The newest good value; looks for a newer one first. Rejects with a `secret-*` fault while there was never a good one. */
  get(): Promise<Credential>
  /** 1, 2, 3 …: the number of the good value in hand; 0 = none yet (K-13). */
  generation(): number
  /** Tells of each new generation until the answer is called; while anybody listens it is looked for every 5 s. */
  onChange(tell: () => void): () => void
}

/**
 * Keeps one secret current. A new value that is bad changes nothing: the one in hand stays, it is told once, and it is
 * not parsed again before it changes (K-14). One that cannot be read now stays as it was too (K-53).
 */
export function currentSecret(how: {
  kind: SecretKind
  place: SecretPlace
  secrets: PlainSecrets
  clock: Clock
  redactor: Redactor
  tell: Tell
}): Current {
  const { kind, place, clock } = how
  const listeners = new Set<() => void>()
  let good: { credential: Credential; generation: number; versionId: string } | null = null
  /** The version that was bad, and what was said of it. */
  let bad: { versionId: string; error: MillraceError } | null = null
  /** It cannot be read any more, and that was told. */
  let lost = false
  let looking: Promise<void> | null = null
  let cancel: (() => void) | null = null

  async function look(): Promise<void> {
    const found = await how.secrets.read(place).catch(error => {
      if (good && !lost && error instanceof MillraceError) {
        lost = true
        how.tell({ ...faultOf(error, error.code), message: `${error.message}; the value before it stays in use` })
      }
      throw error
    })
    lost = false
    if (found.versionId === good?.versionId) {
      bad = null
      return
    }
    if (found.versionId === bad?.versionId) throw bad.error
    try {
      const parsed = checked(kind, place, found)
      const generation = (good?.generation ?? 0) + 1
      const isFirst = good === null
      const credential = credentialOf(parsed, { name: placeName(place), generation, redactor: how.redactor })
      good = { credential, generation, versionId: found.versionId }
      bad = null
      if (!isFirst) for (const tell of [...listeners]) tell()
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error
      bad = { versionId: found.versionId, error }
      if (good)
        how.tell({ ...faultOf(error, error.code), message: `${error.message}; the value before it stays in use` })
      throw error
    }
  }

  /** Those that ask while a look is under way wait for that one. */
  function lookOnce(): Promise<void> {
    looking ??= look().finally(() => {
      looking = null
    })
    return looking
  }

  /** One timer, also when the last listener left while it was looked for and another one came. */
  function watch(): void {
    cancel?.()
    cancel = clock.after(secretLookMs, () => {
      lookOnce()
        .catch(() => {})
        .finally(() => {
          if (listeners.size > 0) watch()
        })
    })
  }

  return {
    async get() {
      await lookOnce().catch(error => {
        if (good === null || !(error instanceof MillraceError)) throw error
      })
      if (good === null) throw new MillraceError('secret-missing', `${placeName(place)}: nothing was read`)
      return good.credential
    },
    generation: () => good?.generation ?? 0,
    onChange(tell) {
      // One place for each listener, also for the same function twice.
      const listener = () => tell()
      listeners.add(listener)
      if (listeners.size === 1) watch()
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) cancel?.()
      }
    },
  }
}

function credentialOf(parsed: Parsed, of: { name: string; generation: number; redactor: Redactor }): Credential {
  const secret = (value: string) => {
    of.redactor.hide(value)
    return new Secret(value, of)
  }
  if (parsed.kind === 'password' || parsed.kind === 'zk-digest') return { ...parsed, password: secret(parsed.password) }
  if (parsed.kind === 'authority' || parsed.kind === 'api-tokens') return parsed
  const passphrase = parsed.passphrase === null ? null : secret(parsed.passphrase)
  return { ...parsed, key: secret(parsed.key), passphrase }
}
