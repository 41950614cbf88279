import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { ConnectionOptions } from 'node:tls'
import type { SASLOptions } from 'kafkajs'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { type ClientOptions, kafkaClient } from './kafkajs.ts'
import { live } from './rigFor.ts'

const wishes = () => ({
  open: want(kafka, {
    listeners: ['tls', 'tls-expired', 'tls-wrong-host', 'sasl-plaintext', 'sasl-tls'],
    users: [{ name: 'anna', password: 'anna-secret' }],
    clientCertificate: 'requested',
    overrides: { 'listener.name.sasl_plaintext.plain.connections.max.reauth.ms': '8000' },
  }),
  strict: want(kafka, { listeners: ['tls'], clientCertificate: 'required' }),
})

/** How many brokers the cluster has, asked through one of its listeners. */
async function brokersAt(bootstrap: string | undefined, options: ClientOptions): Promise<number> {
  if (bootstrap === undefined) throw new Error('the listener has no address')
  // Sessions of the listener `sasl_plaintext` last 8 s: with kafkajs's own 10 s it would log in again at once, too early.
  const client = kafkaClient(bootstrap, { retry: { retries: 0 }, reauthenticationThreshold: 1_000, ...options })
  try {
    return (await client.admin.describeCluster()).brokers.length
  } finally {
    await client.close()
  }
}

const mechanisms = ['plain', 'scram-sha-256', 'scram-sha-512'] as const

function login(mechanism: (typeof mechanisms)[number], password: string): SASLOptions {
  return { mechanism, username: 'anna', password } as SASLOptions
}

describe('RIG 6: each kind of listener takes what is right and refuses what is wrong', live, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  let trust: ConnectionOptions
  before(async () => {
    set = await rig(wishes())
    trust = { ca: readFileSync(set.parts.open.address.certificates?.authority ?? '') }
  })
  after(() => set.dispose())

  test('plaintext asks for nothing', async () => {
    assert.equal(await brokersAt(set.parts.open.address.bootstrap, {}), 1)
  })

  test('TLS serves whoever trusts its authority', async () => {
    const { tls } = set.parts.open.address
    assert.equal(await brokersAt(tls, { ssl: trust }), 1)
    await assert.rejects(brokersAt(tls, { ssl: true }), /self-signed certificate|unable to verify/)
  })

  test('an expired certificate and a wrong host name are refused by the client', async () => {
    const { tlsExpired, tlsWrongHost } = set.parts.open.address
    await assert.rejects(brokersAt(tlsExpired, { ssl: trust }), /certificate has expired/)
    await assert.rejects(brokersAt(tlsWrongHost, { ssl: trust }), /does not match certificate's altnames/)
  })

  test('a required certificate of the client is missed, and taken when it is there', async () => {
    const { tls, certificates } = set.parts.strict.address
    const ca = readFileSync(certificates?.authority ?? '')
    const own = readFileSync(certificates?.client.pem ?? '')
    assert.equal(await brokersAt(tls, { ssl: { ca, cert: own, key: own } }), 1)
    await assert.rejects(brokersAt(tls, { ssl: { ca } }))
  })

  for (const mechanism of mechanisms) {
    test(`${mechanism} takes the right password and refuses a wrong one, with TLS and without`, async () => {
      const { saslPlaintext, saslTls } = set.parts.open.address
      for (const [bootstrap, ssl] of [
        [saslPlaintext, undefined],
        [saslTls, trust],
      ] as const) {
        assert.equal(await brokersAt(bootstrap, { ssl, sasl: login(mechanism, 'anna-secret') }), 1)
        const refused = brokersAt(bootstrap, { ssl, sasl: login(mechanism, 'wrong') })
        await assert.rejects(refused, { name: 'KafkaJSSASLAuthenticationError' })
      }
    })
  }
})
