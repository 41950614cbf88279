import { RigError } from '../errors.ts'
import { brokersMax } from '../limits.ts'
import type { Words } from '../part.ts'

/**
 * What clients can connect to. A plain listener is always there, for the rig's own requests.
 * `tls-expired` and `tls-wrong-host` present the bad certificates of R-22, so that one cluster shows good and bad.
 */
const listenerKinds = ['plaintext', 'tls', 'tls-expired', 'tls-wrong-host', 'sasl-plaintext', 'sasl-tls'] as const
export type ListenerKind = (typeof listenerKinds)[number]

/** Known to every SASL listener as PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512. */
export type User = { name: string; password: string }

export type KafkaOptions = {
  /** 1 … 5, each broker and controller; default 1. */
  brokers?: number
  listeners?: ListenerKind[]
  /** Default, when a SASL listener is wanted: `millrace` with the password `millrace-secret`. */
  users?: User[]
  /** Whether the TLS listeners ask for a client's certificate; default none. */
  clientCertificate?: 'none' | 'requested' | 'required'
  /** A fault proxy before each broker; clients that bootstrap there stay behind them. */
  proxied?: boolean
  /** ACLs hold on; the plain listener's ANONYMOUS may do everything. */
  authorizer?: boolean
  /** a dead broker is fenced after 2 s in place of 9 s. */
  fastFailover?: boolean
  /** For benchmarks: full compiler, G1, heap 1024. */
  tuned?: boolean
  heapMb?: number
  /**
   * Broker properties that win over the rig's, also of one listener: its name is the kind in capitals with `_`,
   * `listener.name.sasl_plaintext.plain.connections.max.reauth.ms`.
   */
  overrides?: Record<string, string>
}

/** The options with every default filled in. */
export type KafkaPlan = Required<KafkaOptions>

const defaultUser: User = { name: 'millrace', password: 'millrace-secret' }

/** Fills the defaults; throws `rig-usage`. */
export function planOf(options: KafkaOptions): KafkaPlan {
  const brokers = options.brokers ?? 1
  if (!Number.isInteger(brokers) || brokers < 1 || brokers > brokersMax)
    throw new RigError('rig-usage', `kafka: ${brokers} brokers wanted, 1 … ${brokersMax} are possible`)
  const tuned = options.tuned ?? false
  return {
    brokers,
    listeners: [...new Set(options.listeners ?? [])].filter(kind => kind !== 'plaintext'),
    users: options.users ?? (options.listeners?.some(isSasl) ? [defaultUser] : []),
    clientCertificate: options.clientCertificate ?? 'none',
    proxied: options.proxied ?? false,
    authorizer: options.authorizer ?? false,
    fastFailover: options.fastFailover ?? false,
    tuned,
    heapMb: options.heapMb ?? (tuned ? 1_024 : 512),
    overrides: options.overrides ?? {},
  }
}

export function isSasl(kind: ListenerKind): boolean {
  return kind.startsWith('sasl')
}

export function isTls(kind: ListenerKind): boolean {
  return kind.includes('tls')
}

const switches = ['proxied', 'authorizer', 'fastFailover', 'tuned'] as const

/** `kafka=3,sasl-plaintext,proxied,heapMb=768,log.cleaner.threads=2`: a value with a dot in its name is a property. */
export function readKafkaWords(words: Words): KafkaOptions {
  const options: KafkaOptions = { listeners: [], overrides: {} }
  if (words.count !== null) options.brokers = words.count
  for (const flag of words.flags) {
    const kind = listenerKinds.find(known => known === flag)
    const known = switches.find(name => name === flag)
    if (kind !== undefined) options.listeners?.push(kind)
    else if (known !== undefined) options[known] = true
    else throw unknown(flag)
  }
  for (const [name, value] of Object.entries(words.values)) {
    if (name === 'heapMb' && /^\d+$/.test(value)) options.heapMb = Number(value)
    else if (name === 'clientCertificate' && (value === 'requested' || value === 'required'))
      options.clientCertificate = value
    else if (name.includes('.')) options.overrides = { ...options.overrides, [name]: value }
    else throw unknown(`${name}=${value}`)
  }
  planOf(options)
  return options
}

function unknown(word: string): RigError {
  const known = [...listenerKinds, ...switches, 'heapMb=<n>', 'clientCertificate=requested|required', '<property>=<x>']
  return new RigError('rig-usage', `kafka: unknown option ${word}; known: ${known.join(', ')}`)
}
