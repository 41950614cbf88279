import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { startRedactor } from '../../engine/flow/redactor.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { readCluster } from '../../engine/process/config.ts'
import { located } from '../../engine/wiring/clusters.ts'
import { openCluster } from '../../engine/wiring/openCluster.ts'
import { audit, numberedBatch } from '../../rig/audit.ts'
import { type KafkaAddress, kafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { offsetOf } from '../../rig/readLog.ts'
import { javaTool } from './javaTool.ts'
import { type Ended, millrace, type RunningMillrace } from './millrace.ts'
import { untilEnd, write } from './mirrorPlaces.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'
import { eventually } from './runFile.ts'

const longestMs = 180_000
const sessionMs = 6_000
const records = 50
/** Distinctive, with signs that base64, URLs and JSON write differently. */
const first = 'canary+1/first?one'
const second = 'canary+2/second?one'
const wrong = 'canary+3/wrong?one'

const wishes = () => ({
  secure: want(kafka, {
    listeners: ['tls', 'tls-expired', 'tls-wrong-host', 'sasl-plaintext', 'sasl-tls'],
    users: [{ name: 'millrace', password: first }],
    overrides: {
      'listener.name.tls.ssl.client.auth': 'required',
      'listener.name.sasl_plaintext.sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-512',
      'connections.max.reauth.ms': String(sessionMs),
    },
  }),
})

type Words = Record<string, unknown>

describe('secured clusters', live, () => {
  let set: LiveRig<ReturnType<typeof wishes>>
  let east: KafkaCluster
  let west: KafkaCluster
  let secure: KafkaAddress
  const folder = mkdtempSync(join(tmpdir(), 'millrace-security-'))
  const alive = setInterval(() => {}, longestMs)
  /** All that the commands have said. */
  const said: string[] = []
  const topic = 'sec.orders'
  const file = (name: string, text: string) => {
    const path = join(folder, name)
    // As an editor does it: nobody sees half a file.
    writeFileSync(`${path}.new`, text)
    renameSync(`${path}.new`, path)
    return name
  }
  const password = (value: string) => JSON.stringify({ username: 'millrace', password: value })
  const soon = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(longestMs)])

  before(async () => {
    set = await rigFor(wishes())
    secure = set.parts.secure.address
    east = openPlain('east', set.east.bootstrap)
    west = openPlain('secure', secure.bootstrap)
    await east.admin.createTopic(topic, 1)
    await write(east, { topic, partition: 0 }, [0, records], AbortSignal.timeout(longestMs))
    file('ca.pem', readFileSync(secure.certificates?.authority ?? '', 'utf8'))
    file('me.pem', readFileSync(secure.certificates?.client.pem ?? '', 'utf8'))
    file('stranger.pem', readFileSync(secure.certificates?.expired.pem ?? '', 'utf8'))
    file('first.json', password(first))
    file('wrong.json', password(wrong))
  })
  after(async () => {
    clearInterval(alive)
    rmSync(folder, { recursive: true })
    await Promise.all([east?.close(), west?.close()])
    await set?.dispose()
  })

  const kept = async (running: RunningMillrace): Promise<Ended> => {
    const ended = await running.ended
    said.push(ended.stdout, ended.stderr)
    return ended
  }
  let runs = 0
  /** A mirror from the plain cluster to a listener, under names of its own. */
  function mirrorTo(
    brokers: string | undefined,
    security: Words,
    signal: AbortSignal,
    env: Record<string, string> = {},
  ) {
    const run = `sec${process.pid}-${runs++}`
    const config = join(folder, file(`${run}.yaml`, JSON.stringify({ brokers: brokers?.split(','), security })))
    const sides = ['--from', set.east.bootstrap, '--destination-config', config, '--topics', 'sec\\.orders']
    const args = ['mirror', ...sides, '--name', run, '--naming', `${run}.`, '--until-end']
    return { run, running: millrace(args, signal, env) }
  }

  const tls = { ca: { file: 'ca.pem' } }
  const env = { FIRST: password(first), ME: '', CA: '' }
  const good: [what: string, words: () => [string | undefined, Words]][] = [
    [
      'TLS with an authority of our own, and another name to check',
      () => [secure.tlsWrongHost, { tls: { ...tls, serverName: 'elsewhere.invalid' } }],
    ],
    [
      'an authority from a variable',
      () => [secure.tlsWrongHost, { tls: { ca: { env: 'CA' }, serverName: 'elsewhere.invalid' } }],
    ],
    ['a client certificate as mechanism', () => [secure.tls, { mechanism: 'tls', file: 'me.pem', tls }]],
    ['a client certificate from a variable', () => [secure.tls, { mechanism: 'tls', env: 'ME', tls }]],
    ['a client certificate of TLS', () => [secure.tls, { tls: { ...tls, certificate: { file: 'me.pem' } } }]],
    ['PLAIN without TLS on this machine', () => [secure.saslPlaintext, { mechanism: 'plain', file: 'first.json' }]],
    ...['plain', 'scram-sha-256', 'scram-sha-512'].flatMap((mechanism): typeof good => [
      [`${mechanism} over TLS from a file`, () => [secure.saslTls, { mechanism, file: 'first.json', tls }]],
      [`${mechanism} over TLS from a variable`, () => [secure.saslTls, { mechanism, env: 'FIRST', tls }]],
    ]),
  ]
  for (const [what, words] of good) {
    test(`a mirror copies to a cluster with ${what}`, async t => {
      const signal = soon(t.signal)
      const [CA, ME] = ['ca.pem', 'me.pem'].map(name => readFileSync(join(folder, name), 'utf8'))
      const { run, running } = mirrorTo(...words(), signal, { ...env, CA: CA ?? '', ME: ME ?? '' })
      const { code, stderr } = await kept(running)
      assert.equal(code, 0, stderr)
      await untilEnd(west, { topic: `${run}.${topic}`, partition: 0 }, records, signal)
    })
  }

  type Refusal = { code: string; hint: RegExp; kafka?: number }
  const where = 'in the file of --destination-config'
  const refusals: [what: string, words: () => [string | undefined, Words], expected: Refusal][] = [
    ...['plain', 'scram-sha-256', 'scram-sha-512'].map((mechanism): (typeof refusals)[number] => [
      `a wrong password for ${mechanism}`,
      () => [secure.saslTls, { mechanism, file: 'wrong.json', tls }],
      { code: 'kafka-login-refused', hint: new RegExp(`user and mechanism: security\\.file ${where}`) },
    ]),
    [
      'a mechanism that the broker does not offer',
      () => [secure.saslPlaintext, { mechanism: 'scram-sha-256', file: 'first.json' }],
      { code: 'kafka-login-refused', hint: new RegExp(`does not offer scram-sha-256.*security\\.mechanism ${where}`) },
    ],
    [
      'SASL spoken to a listener that takes none',
      () => [secure.bootstrap, { mechanism: 'scram-sha-512', file: 'first.json' }],
      { code: 'kafka-login-refused', hint: new RegExp(`takes no SASL: leave security\\.mechanism ${where} out`) },
    ],
    [
      'a certificate of the broker that has expired',
      () => [secure.tlsExpired, { tls }],
      { code: 'kafka-tls-refused', hint: /has expired: renew it at the broker/ },
    ],
    [
      'a certificate of the broker for another host',
      () => [secure.tlsWrongHost, { tls }],
      { code: 'kafka-tls-refused', hint: new RegExp(`another host name.*security\\.tls\\.serverName ${where}`) },
    ],
    [
      'an authority that we do not know',
      () => [secure.saslTls, { mechanism: 'plain', file: 'first.json', tls: true }],
      { code: 'kafka-tls-refused', hint: new RegExp(`add the CA to security\\.tls\\.ca ${where}`) },
    ],
    [
      'a client certificate that is wanted and not there',
      () => [secure.tls, { tls }],
      {
        code: 'kafka-tls-refused',
        hint: new RegExp(`wants a client's certificate: set security\\.tls\\.certificate ${where}`),
      },
    ],
    [
      'a client certificate that has expired',
      () => [secure.tls, { mechanism: 'tls', file: 'stranger.pem', tls }],
      { code: 'kafka-tls-refused', hint: /does not take our certificate: is it in date/ },
    ],
  ]
  for (const [what, words, { code, hint }] of refusals) {
    test(`a mirror ends with 3 at once, and says the cure: ${what}`, async t => {
      const ended = await kept(mirrorTo(...words(), soon(t.signal)).running)
      const last = ended.lines.at(-1)
      const error = last?.['error'] as { code: string; message: string; hint: string } | undefined
      assert.equal(error?.code, code, `${ended.stdout}\n${ended.stderr}`)
      assert.match(error?.hint ?? '', hint)
      assert.match(error?.message ?? '', /^destination: broker /)
      assert.equal(ended.code, 3)
    })
  }

  const mixed: [what: string, words: () => [string | undefined, Words], hint: RegExp][] = [
    [
      'TLS spoken to a plain port',
      () => [secure.bootstrap, { tls }],
      /plain port or the reverse\? look at security\.tls in/,
    ],
    ['plain spoken to a TLS port', () => [secure.saslTls, {}], /plain port or the reverse|set security\.mechanism in/],
    ['no mechanism where SASL is wanted', () => [secure.saslPlaintext, {}], /want SASL\? set security\.mechanism in/],
  ]
  for (const [what, words, hint] of mixed) {
    test(`a mirror says at once what may be wrong, and tries again: ${what}`, async t => {
      const { running } = mirrorTo(...words(), soon(t.signal))
      const event = await running.line(line => line.type === 'event')
      assert.equal(event['code'], 'kafka-link-lost')
      assert.match(String(event['hint']), hint)
      running.child.kill('SIGTERM')
      assert.equal((await kept(running)).code, 0)
    })
  }

  test('a secret that is not there is said before anything is connected, with the line that names it', async t => {
    const { running } = mirrorTo('127.0.0.1:1', { mechanism: 'plain', file: 'none.json' }, soon(t.signal))
    const { code, stderr } = await kept(running)
    assert.equal(code, 2)
    assert.match(stderr, /\.yaml:1:\d+ security\.file: found secret-missing: .*none\.json is not there/)
  })

  /** `millrace run` with a flow to a SASL listener, and one to a plain cluster. */
  function runFile(name: string, security: Words, topics: string[]) {
    const clusters = {
      east: { brokers: set.east.bootstrap.split(',') },
      west: { brokers: set.west.bootstrap.split(',') },
      secure: { brokers: secure.saslTls?.split(','), security },
    }
    const flow = (to: string) => ({ kind: 'mirror', from: 'east', to, topics: { names: topics, refreshMs: 1_000 } })
    const naming = { prefix: `${name}.` }
    const flows = { [`${name}-a`]: { ...flow('secure'), naming }, [`${name}-b`]: { ...flow('west'), naming } }
    return join(folder, file(`${name}.yaml`, JSON.stringify({ clusters, flows })))
  }

  test('millrace run goes on with a cluster that refuses the login, and with the others, until the password is right', async t => {
    const signal = soon(t.signal)
    const name = `run${process.pid}`
    file('late.json', password(wrong))
    const path = runFile(name, { mechanism: 'scram-sha-512', file: 'late.json', tls }, [topic])
    const running = millrace(['run', '-c', path], signal)
    const event = await running.line(line => line['code'] === 'kafka-login-refused')
    assert.match(String(event['hint']), /clusters\.secure\.security\.file/)
    const other = openPlain('west', set.west.bootstrap)
    await untilEnd(other, { topic: `${name}.${topic}`, partition: 0 }, records, signal)
    await other.close()
    file('late.json', password(first))
    await untilEnd(west, { topic: `${name}.${topic}`, partition: 0 }, records, signal)
    running.child.kill('SIGTERM')
    assert.equal((await kept(running)).code, 0)
  })

  test('K-55: a password that changes while a mirror runs, and sessions of seconds, cost no record and no error', async t => {
    const signal = soon(t.signal)
    const moving = `moving${process.pid}`
    const part = { topic: moving, partition: 0 }
    await east.admin.createTopic(moving, 1)
    file('moving.json', password(first))
    const path = runFile(moving, { mechanism: 'scram-sha-512', file: 'moving.json', tls }, [moving])
    const running = millrace(['run', '-c', path], signal)
    const done = new AbortController()
    let written = 0
    const writing = (async () => {
      for (; !done.signal.aborted; written += 20) {
        await write(east, part, [written, written + 20], signal)
        await delay(50)
      }
    })()
    const copied = { topic: `${moving}.${moving}`, partition: 0 }
    await eventuallyAt(west, copied, 20, signal)
    await alter(secure.bootstrap, second)
    file('moving.json', password(second))
    // Three sessions: each of the links is logged in with the new password, again and again.
    await delay(3 * sessionMs)
    const { url } = await running.logged(line => line['msg'] === 'listening')
    said.push(await (await fetch(`${url}/metrics`)).text())
    done.abort()
    await writing
    await untilEnd(west, copied, written, signal)
    running.child.kill('SIGTERM')
    const { code, lines, stderr } = await kept(running)
    assert.equal(code, 0, stderr)
    assert.deepEqual(
      lines.filter(line => line.type === 'event'),
      [],
    )
    const [found] = await audit(west, copied.topic, [written], signal)
    assert.deepEqual([found?.lost, found?.repeated, found?.outOfOrder], [0, 0, 0])
    await alter(secure.bootstrap, first)
  })

  test('K-55: a client certificate that changes has no session that ends, and the links are swapped all the same', async t => {
    const signal = soon(t.signal)
    const pem = readFileSync(join(folder, 'me.pem'), 'utf8')
    file('mine.pem', pem)
    const read = readCluster(
      JSON.stringify({ brokers: secure.tls?.split(','), security: { mechanism: 'tls', file: 'mine.pem', tls } }),
    )
    assert.ok(read.ok)
    const named = { name: 'secure', ...located(read.settings, join(folder, 'x.yaml')), keyName: (key: string) => key }
    const tell = (event: FlowEvent) => assert.fail(event.message)
    const parts = { account: new MemoryAccount(), clock: machineClock(), redactor: startRedactor(), tell }
    const cluster = openCluster(named, parts)
    const part = { topic: `swap${process.pid}`, partition: 0 }
    await cluster.admin.createTopic(part.topic, 1)
    const lane = cluster.sink.open(
      { ...part, topicId: '' },
      () => true,
      outcome => assert.equal(outcome.is, 'acked'),
    )
    const batch = (n: number) => numberedBatch(n, 1, { codec: 'none', valueBytes: 100, timestampMs: Date.now() })
    lane.send(batch(0), 0)
    await lane.idle(signal)
    file('mine.pem', `# the second\n${pem}`)
    await eventually(async () => (cluster.counts().swaps > 0 ? true : null), signal)
    lane.send(batch(1), 1)
    await lane.idle(signal)
    lane.close(false)
    const [found] = await audit(cluster, part.topic, [2], signal)
    assert.deepEqual([found?.lost, found?.repeated], [0, 0])
    await cluster.close()
  })

  test('verify logs in to a secured cluster as the mirror does', async t => {
    const signal = soon(t.signal)
    const own = `verify${process.pid}`
    await east.admin.createTopic(own, 1)
    await write(east, { topic: own, partition: 0 }, [0, records], signal)
    const security = { mechanism: 'scram-sha-256', env: 'PASSWORD', tls }
    const config = join(folder, file('verify.yaml', JSON.stringify({ brokers: secure.saslTls?.split(','), security })))
    const of = ['--from', set.east.bootstrap, '--destination-config', config, '--topics', own, '--name', own]
    const run = (words: string[], value: string) =>
      kept(millrace([...words, ...of], signal, { PASSWORD: password(value) }))
    assert.equal((await run(['mirror', '--until-end'], first)).code, 0)
    const good = await run(['mirror', 'verify', '--deep'], first)
    assert.equal(good.code, 0, good.stderr)
    const refused = await run(['mirror', 'verify', '--deep'], wrong)
    assert.equal(refused.code, 3)
    assert.match(refused.stderr, /^kafka-login-refused: destination: /)
  })

  test('no password, in no form, stands in anything that was said', () => {
    const text = said.join('\n')
    assert.ok(text.length > 10_000)
    for (const value of [first, second, wrong]) {
      const bytes = Buffer.from(value)
      const forms = [value, bytes.toString('base64'), bytes.toString('hex'), encodeURIComponent(value), password(value)]
      for (const form of forms) assert.equal(text.includes(form), false, form.slice(0, 8))
    }
    const key = readFileSync(join(folder, 'me.pem'), 'utf8').split('\n')[1] ?? ''
    assert.ok(key.length > 8)
    assert.equal(text.includes(key), false)
  })
})

/** Sets the SCRAM-SHA-512 password of the user by Kafka's own tool. */
async function alter(bootstrap: string, value: string): Promise<void> {
  const of = ['--bootstrap-server', bootstrap, '--alter', '--entity-type', 'users', '--entity-name', 'millrace']
  await javaTool('kafka.admin.ConfigCommand', [
    ...of,
    '--add-config',
    `SCRAM-SHA-512=[iterations=4096,password=${value}]`,
  ])
}

/** Until the partition is there and ends at this offset or behind it. */
async function eventuallyAt(
  cluster: KafkaCluster,
  part: { topic: string; partition: number },
  end: number,
  signal: AbortSignal,
) {
  await eventually(async () => ((await offsetOf(cluster, part, 'end')) >= BigInt(end) ? true : null), signal)
}
