import type { Security } from '../adapters/kafka/login.ts'
import { openKafka } from '../adapters/kafka/openKafka.ts'
import type { MemoryAccount } from '../adapters/kafka/slab.ts'
import { plainSecrets } from '../adapters/local/plainSecrets.ts'
import { type Current, currentSecret } from '../credentials/current.ts'
import type { SecretKind } from '../credentials/decide/parseSecret.ts'
import type { Tell } from '../flow/event.ts'
import type { Redactor } from '../flow/redactor.ts'
import type { Clock } from '../ports/clock.ts'
import type { SecretPlace } from '../ports/secrets.ts'
import type { NamedCluster } from './clusters.ts'

type Parts = { clock: Clock; redactor: Redactor; tell: Tell }

/** A cluster of a flag or a file, with its secrets kept current. Nothing is read or connected before it is needed. */
export function openCluster(
  { keyName, ...cluster }: NamedCluster,
  { account, ...parts }: Parts & { account: MemoryAccount },
): ReturnType<typeof openKafka> {
  const security = { ...securityFor(cluster, parts), keyName }
  return openKafka({ ...cluster, security }, { account, clock: parts.clock, chance: Math.random })
}

function securityFor({ name, security }: Omit<NamedCluster, 'keyName'>, { tell, ...parts }: Parts): Security {
  const all: Current[] = []
  const secrets = plainSecrets(process.env)
  const current = (kind: SecretKind, place: SecretPlace): Current => {
    const told: Tell = event => tell({ ...event, message: `${name}: ${event.message}` })
    const made = currentSecret({ ...parts, kind, place, secrets, tell: told })
    all.push(made)
    return made
  }
  const tls = tlsOf(security, current)
  const { mechanism, secret, loopbackOnly } = security
  const login = secret && mechanism !== 'none' && mechanism !== 'tls' ? current('password', secret) : null
  const sasl = login && { mechanism, loopbackOnly, credential: () => passwordOf(login) }
  return {
    tls,
    sasl: sasl as Security['sasl'],
    onChange(changed) {
      const ends = all.map(one => one.onChange(changed))
      return () => {
        for (const end of ends) end()
      }
    },
  }
}

type Make = (kind: SecretKind, place: SecretPlace) => Current

function tlsOf({ mechanism, secret, tls }: NamedCluster['security'], current: Make): Security['tls'] {
  if (!tls) return null
  const authority = tls.ca && current('authority', tls.ca)
  const own = mechanism === 'tls' ? secret : tls.certificate
  const client = own && current('client-certificate', own)
  return async () => {
    const [ca, certificate] = await Promise.all([authority?.get(), client?.get()])
    return {
      ca: ca?.kind === 'authority' ? ca.certificate : null,
      client: certificate?.kind === 'client-certificate' ? certificate : null,
      serverName: tls.serverName,
    }
  }
}

async function passwordOf(current: Current) {
  const credential = await current.get()
  if (credential.kind !== 'password') throw new Error('a login by password has a password')
  return credential
}
