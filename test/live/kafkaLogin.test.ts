import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { connector } from '../../engine/adapters/kafka/connect.ts'
import { metadataApi } from '../../engine/adapters/kafka/frames/metadata.ts'
import type { Link } from '../../engine/adapters/kafka/link.ts'
import { plainSecurity, type Security } from '../../engine/adapters/kafka/login.ts'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { MillraceError } from '../../engine/errors.ts'
import { Secret } from '../../engine/flow/secret.ts'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { randomPorts } from '../../rig/ports.ts'
import { hangingAddress } from '../../rig/proxy/hanging.ts'
import {
  addressesOf,
  clock,
  loose,
  numbered,
  numbersOf,
  openCluster,
  startCopy,
  topicIdOf,
  upTo,
  write,
} from './kafkaCopy.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const sessionMs = 6_000
const mirrorMs = 30_000
/** The broker waits 100 ms before it tells a login that it is refused; so many wait at once. */
const atOnce = 20

const wishes = () => ({
  secure: want(kafka, {
    listeners: ['tls', 'sasl-plaintext', 'sasl-tls'],
    overrides: { 'connections.max.reauth.ms': String(sessionMs) },
  }),
})

/** Sockets and timers that hold this process. */
function held(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1
  return { sockets: (counts['TCPSocketWrap'] ?? 0) + (counts['TLSWrap'] ?? 0), timers: counts['Timeout'] ?? 0 }
}

/** Closed handles leave the list in the next turns of the loop. */
async function settledAs(before: Record<string, number>): Promise<void> {
  for (let turns = 0; turns < 200; turns++) {
    const now = held()
    if ((now['sockets'] ?? 0) <= (before['sockets'] ?? 0) && (now['timers'] ?? 0) <= (before['timers'] ?? 0)) return
    await delay(10)
  }
  assert.deepEqual(held(), before)
}

describe('the login', live, () => {
  let set: LiveRig<ReturnType<typeof wishes>>
  const account = new MemoryAccount({ poison: true })
  /** What takes its time is begun first and looked at last. */
  let slow: Promise<unknown>[]
  before(async () => {
    set = await rigFor(wishes())
    let heard = 0
    const silent = createServer(() => void heard++)
    await new Promise<void>(resolve => silent.listen({ host: '127.0.0.1', port: 0 }, resolve))
    const at = silent.address()
    const port = typeof at === 'object' && at !== null ? at.port : 0
    const hanging = await hangingAddress(randomPorts())
    const failed = (bootstrap: string, security: Security) =>
      connect(bootstrap, security).catch((error: unknown) => error)
    slow = [
      failed(`127.0.0.1:${port}`, plainSecurity),
      failed(`127.0.0.1:${port}`, { tls: tls(null), sasl: null }),
      failed(`${hanging.address.host}:${hanging.address.port}`, plainSecurity),
    ]
    // Their sockets are there before any are counted.
    while (heard < 2) await once(silent, 'connection')
    await delay(0)
    void Promise.all(slow).finally(() => {
      silent.close()
      return hanging.stop()
    })
  })
  after(() => set.dispose())

  const ca = () => readFileSync(set.parts.secure.address.certificates?.authority ?? '', 'utf8')
  const scram = (password = set.parts.secure.address.users[0]?.password ?? '') => ({
    mechanism: 'scram-sha-512' as const,
    credential: async () => ({ username: 'millrace', password: new Secret(password, { name: 'test', generation: 1 }) }),
  })
  const tls = (authority: string | null) => async () => ({ ca: authority, client: null, serverName: null })
  const connect = (bootstrap: string, security: Security): Promise<Link> => {
    const [address] = addressesOf(bootstrap)
    assert.ok(address)
    return connector({ cluster: 'secure', clientId: 'millrace', security, account, clock, caps: new Map() })(
      address,
      'control',
    )
  }

  /** A login that must fail, `times` times: always with this code and hint, and nothing is left of it. */
  const refuses = async (
    bootstrap: string,
    security: Security,
    expected: { code: string; hint: RegExp; kafka?: number },
    times = 1,
  ) => {
    await delay(0)
    const beforehand = held()
    for (let done = 0; done < times; done += atOnce) {
      const tries = Array.from({ length: Math.min(atOnce, times - done) }, () => connect(bootstrap, security))
      for (const result of await Promise.allSettled(tries)) {
        assert.equal(result.status, 'rejected')
        const error: unknown = result.reason
        assert.ok(error instanceof MillraceError, String(error))
        assert.equal(error.code, expected.code, error.message)
        assert.match(error.hint ?? '', expected.hint)
        assert.match(error.message, /secure: broker .*:\d+/)
        if (expected.kafka !== undefined) assert.equal(error.kafka, expected.kafka)
      }
    }
    await settledAs(beforehand)
  }

  it('KAFKA 15: a wrong password a hundred times leaves no socket', async () => {
    const { saslTls = '', saslPlaintext = '' } = set.parts.secure.address
    const expected = { code: 'kafka-login-refused', hint: /user and mechanism/, kafka: 58 }
    await refuses(saslPlaintext, { tls: null, sasl: scram('wrong') }, expected, 100)
    await refuses(saslTls, { tls: tls(ca()), sasl: scram('wrong') }, expected, 5)
  })

  it('KAFKA 15: an unknown CA a hundred times leaves no socket', async () => {
    const { tls: bootstrap = '' } = set.parts.secure.address
    const expected = { code: 'kafka-tls-refused', hint: /add the CA to security\.tls\.ca/ }
    await refuses(bootstrap, { tls: tls(null), sasl: null }, expected, 100)
  })

  it('KAFKA 15: plain spoken to the TLS port a hundred times leaves no socket', async () => {
    const { tls: bootstrap = '' } = set.parts.secure.address
    const expected = { code: 'kafka-link-lost', hint: /TLS spoken to a plain port or the reverse\?/ }
    await refuses(bootstrap, plainSecurity, expected, 100)
  })

  it('KAFKA 15: a hundred times nobody there leaves no socket', async () => {
    const port = await randomPorts().take()
    const expected = { code: 'kafka-unreachable', hint: new RegExp(`nothing listens at 127\\.0\\.0\\.1:${port}`) }
    await refuses(`127.0.0.1:${port}`, plainSecurity, expected, 100)
  })

  it('tells a typo in the name, TLS to a plain port, SASL to a plain listener and a missing mechanism apart', async () => {
    const { bootstrap, saslPlaintext = '' } = set.parts.secure.address
    await refuses('no-such-host.invalid:9092', plainSecurity, { code: 'kafka-unreachable', hint: /name/ })
    const mixedUp = { code: 'kafka-link-lost', hint: /TLS spoken to a plain port or the reverse\?/ }
    await refuses(bootstrap, { tls: tls(ca()), sasl: null }, mixedUp, 5)
    const noSasl = { code: 'kafka-login-refused', hint: /takes no SASL/, kafka: 34 }
    await refuses(bootstrap, { tls: null, sasl: scram() }, noSasl, 5)
    await refuses(saslPlaintext, plainSecurity, { code: 'kafka-link-lost', hint: /want SASL/ })
  })

  it('a cluster that cannot be reached says so at once, in every stream and lane, and leaves nothing', async () => {
    const beforehand = held()
    const port = await randomPorts().take()
    const cluster = openCluster('nowhere', `127.0.0.1:${port}`, account)
    await assert.rejects(cluster.admin.look('all'), { code: 'kafka-unreachable' })
    const part = { topic: 'any', partition: 0 }
    const stream = cluster
      .source({ isolation: 'read_committed', rack: null })
      .open({ ...part, topicId: '' }, { offset: 0n, epoch: -1 })
    const lane = cluster.sink.open(
      { ...part, topicId: '' },
      () => true,
      () => {},
    )
    lane.send(loose(numbered(0, 1)), 0)
    for (const end of [stream, lane]) {
      while (end.trouble() === null) await delay(10)
      assert.equal(end.trouble()?.code, 'kafka-unreachable')
    }
    await assert.rejects(
      cluster.checkpoints.save('any', [], () => true, AbortSignal.abort(new Error('over'))),
      /over/,
    )
    stream.close()
    lane.close(false)
    await cluster.close()
    await settledAs(beforehand)
  })

  it('KAFKA 14: without a swap the next request after the session closes the connection', async () => {
    const { saslPlaintext = '' } = set.parts.secure.address
    const link = await connect(saslPlaintext, { tls: null, sasl: scram() })
    const left = (link.sessionEndsAtMs ?? 0) - clock.nowMs()
    assert.ok(left > 0 && left <= sessionMs, `${left}`)
    await link.ask(metadataApi, { topics: [] }, { timeoutMs: 5_000 })
    await delay(left + 100)
    await assert.rejects(link.ask(metadataApi, { topics: [] }, { timeoutMs: 5_000 }), { code: 'kafka-link-lost' })
    assert.equal(link.alive, false)
  })

  it('KAFKA 13: over TLS and SCRAM the links are swapped before their sessions end, and no record is disturbed', async () => {
    const beforehand = held()
    const { saslTls = '' } = set.parts.secure.address
    const security = { tls: tls(ca()), sasl: scram() }
    const from = openCluster('secure', saslTls, account, { security })
    const to = openCluster('secure', saslTls, account, { security })
    const [source, copyTo] = [`k13-${process.pid}`, `k13-copy-${process.pid}`]
    await from.admin.createTopic(source, 1)
    await to.admin.createTopic(copyTo, 2)
    // A fresh broker has no producer ids for a moment, which is trouble indeed, but not of the kind looked for here.
    await Promise.all([from, to].map(one => write(one, { topic: copyTo, partition: 1 }, [numbered(0, 1)])))
    const topicId = await topicIdOf(from, source)
    const part = { topic: source, partition: 0 }
    const copy = startCopy(from, to, { part: { ...part, topicId }, to: { topic: copyTo, partition: 0 } })
    const troubles: unknown[] = []
    const writer = from.sink.open<number>(
      { ...part, topicId: '' },
      () => true,
      outcome => {
        if (outcome.is !== 'acked') copy.odd.push(outcome)
      },
    )
    let written = 0
    for (const endMs = clock.nowMs() + mirrorMs; clock.nowMs() < endMs; ) {
      for (let n = 0; n < 5; n++, written += 10) writer.send(loose(numbered(written, 10, { bytes: 4_000 })), written)
      for (const one of [copy.stream.trouble(), copy.lane.trouble(), writer.trouble()]) if (one) troubles.push(one)
      await delay(20)
    }
    await writer.idle(AbortSignal.timeout(10_000))
    writer.close(false)
    await copy.until(BigInt(written))
    await copy.end()
    assert.deepEqual(troubles, [])
    assert.deepEqual(copy.odd, [])
    assert.deepEqual(await numbersOf(to, { topic: copyTo, partition: 0 }), upTo(written))
    const swaps = [from.counts().swaps, to.counts().swaps]
    assert.ok(Math.min(...swaps) >= 5, `${swaps} swaps`)
    assert.equal(from.counts().producerResets + to.counts().producerResets, 0)
    await Promise.all([from.close(), to.close()])
    assert.equal(account.heldBytes, 0)
    await settledAs(beforehand)
  })

  it('a broker that is silent, and one whose connect hangs, are unreachable within thirty seconds', async () => {
    for (const error of await Promise.all(slow)) {
      assert.ok(error instanceof MillraceError, String(error))
      assert.equal(error.code, 'kafka-unreachable', error.message)
      assert.match(error.hint ?? '', /firewall/)
    }
  })
})
