import assert from 'node:assert/strict'
import { unlinkSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { offsetOf } from '../../rig/readLog.ts'
import { writePlain } from '../../rig/samples.ts'
import { flowsFile, mirrorFlow } from './flowsFile.ts'
import { javaTool } from './javaTool.ts'
import { type JsonLine, millrace, type RunningMillrace } from './millrace.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const longestMs = 120_000
/** Where no connection is taken. */
const nobody = '127.0.0.1:1'

describe('all flows of a file in one process', live, () => {
  let set: LiveRig<Record<never, never>>
  let east: KafkaCluster
  let west: KafkaCluster
  /** Begun first, for it takes 30 s. */
  let givesUp: RunningMillrace
  const alive = setInterval(() => {}, longestMs)

  before(async () => {
    set = await rigFor({})
    east = openPlain('east', set.east.bootstrap)
    west = openPlain('west', set.west.bootstrap)
    const flags = ['mirror', '--from', nobody, '--to', set.west.bootstrap, '--topics', 'away']
    givesUp = millrace(flags, AbortSignal.timeout(longestMs))
  })
  after(async () => {
    clearInterval(alive)
    givesUp?.child.kill('SIGKILL')
    await Promise.all([east?.close(), west?.close()])
    await set?.dispose()
  })

  const soon = (t: TestContext) => AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
  const file = (t: TestContext, more: Record<string, string> = {}) =>
    flowsFile(t, { east: set.east.bootstrap, west: set.west.bootstrap, ...more })
  const made = async (topics: string[], records: number, signal: AbortSignal, partitions = 1) => {
    for (const topic of topics) await east.admin.createTopic(topic, partitions)
    for (const topic of topics)
      for (let partition = 0; partition < partitions; partition++) await write(topic, records, signal, partition)
  }
  const write = (topic: string, records: number, signal: AbortSignal, partition = 0) => {
    const how = { seed: 1, timeMs: 1_700_000_000_000, batches: records / 10, recordsPerBatch: 10 }
    return writePlain(east, { topic, partition }, { ...how, codec: 'lz4' }, signal)
  }
  const arrived = (topic: string) => offsetOf(west, { topic, partition: 0 }, 'end')
  const checkpoint = async (flow: string, topic: string, partition: number, signal: AbortSignal) => {
    const [entry] = await east.checkpoints.load(`millrace.${flow}`, [{ topic, partition }], signal)
    return entry?.offset ?? null
  }
  const copied = (running: RunningMillrace, flow: string, records: number) =>
    running.line(line => line.type === 'progress' && line['flow'] === flow && line['records'] === records)
  const readAgain = (running: RunningMillrace, times: number) =>
    running.logged(countOf(line => line['msg'] === 'the configuration was read again', times))
  const notTaken = (running: RunningMillrace, what: RegExp) =>
    running.line(line => line['code'] === 'config-invalid' && what.test(String(line['message'])))

  test('an edited file: a flow more, one less, topics changed, and what ran is not begun anew', async t => {
    const signal = soon(t)
    const topics = ['run-a', 'run-a2', 'run-b', 'run-c']
    await made(topics, 20, signal)
    const config = file(t)
    config.write({ 'run-alpha': mirrorFlow(['run-a']), 'run-beta': mirrorFlow(['run-b']) })
    const running = millrace(['run', '-c', config.path], signal)
    await Promise.all([copied(running, 'run-alpha', 20), copied(running, 'run-beta', 20)])

    config.write({ 'run-alpha': mirrorFlow(['run-a2?']), 'run-gamma': mirrorFlow(['run-c']) })
    await readAgain(running, 1)
    // Begun anew it would count the first 20 no more.
    await Promise.all([copied(running, 'run-alpha', 40), copied(running, 'run-gamma', 20)])
    for (const topic of topics) await write(topic, 10, signal)
    await Promise.all([copied(running, 'run-alpha', 60), copied(running, 'run-gamma', 30)])
    assert.equal(await checkpoint('run-beta', 'run-b', 0, signal), 20n)
    assert.deepEqual(await Promise.all(topics.map(arrived)), [30n, 30n, 20n, 30n])

    running.child.kill('SIGTERM')
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stderr)
    assert.deepEqual(summariesOf(ended.lines), [
      ['run-alpha', true, 'signal'],
      ['run-gamma', true, 'signal'],
    ])
    const told = ended.lines.filter(line => line.type === 'event').map(({ flow, code }) => [flow, code])
    assert.deepEqual(told, [['run-beta', 'left-file']], ended.stdout)
  })

  test('a broken edit is refused as a whole with its place, what ran goes on, and SIGHUP takes a good one', async t => {
    const signal = soon(t)
    await made(['hup-a', 'hup-b'], 10, signal)
    const config = file(t)
    config.write({ hup: mirrorFlow(['hup-a']) })
    const running = millrace(['run', '-c', config.path], signal)
    await copied(running, 'hup', 10)

    const clusters = `clusters: {east: {brokers: ["${set.east.bootstrap}"]}, west: {brokers: ["${set.west.bootstrap}"]}}`
    const good = 'hup: {kind: mirror, from: east, to: west, topics: {include: ["hup-."], refreshMs: 1000}}'
    const bad = 'bad: {kind: mirror, from: east, to: wets, topics: {include: ["x("]}}'
    config.writeText(`${clusters}\nflows:\n  ${good}\n  ${bad}\n`)
    const event = await notTaken(running, /what ran before runs on/)
    const at = (column: number) => `${config.path}:4:${column} flows.bad.`
    for (const place of [at(bad.indexOf('wets') + 3), at(bad.indexOf('"x(') + 3)]) {
      assert.ok(String(event['message']).includes(place), `${place} in ${event['message']}`)
    }
    await write('hup-a', 10, signal)
    await copied(running, 'hup', 20)
    await assert.rejects(arrived('hup-b'))

    // Nothing has changed: only the signal says so.
    running.child.kill('SIGHUP')
    await running.logged(countOf(line => String(line['msg']).includes('what ran before runs on'), 2))
    config.writeText(`${clusters}\nflows:\n  ${good}\n`)
    running.child.kill('SIGHUP')
    await copied(running, 'hup', 30)
    running.child.kill('SIGHUP')
    await readAgain(running, 2)
    config.writeText(`${clusters.replace('east: {', 'east: {clientId: other, ')}\nflows:\n  ${good}\n`)
    running.child.kill('SIGHUP')
    await notTaken(running, /clusters\.east: it cannot be changed while it is in use/)
    running.child.kill('SIGTERM')
    assert.equal((await running.ended).code, 0)
  })

  test('a flow is paused and resumed by its file, and its naming is changed only while it is paused', async t => {
    const signal = soon(t)
    await made(['hold'], 10, signal)
    const config = file(t)
    config.write({ hold: mirrorFlow(['hold']) })
    const running = millrace(['run', '-c', config.path], signal)
    await copied(running, 'hold', 10)
    const url = (await running.logged(line => line['msg'] === 'listening'))['url']

    const naming = { prefix: 'held.' }
    config.write({ hold: mirrorFlow(['hold'], { naming }) })
    running.child.kill('SIGHUP')
    await notTaken(running, /flows\.hold\.naming: it cannot be changed while the flow runs \(M-20\)/)
    await write('hold', 10, signal)
    await copied(running, 'hold', 20)

    config.write({ hold: mirrorFlow(['hold'], { paused: true }) })
    running.child.kill('SIGHUP')
    // The second time its unit has let go.
    await running.line(countOf(line => line['records'] === 20 && line['notRunning'] === 1, 2))
    await write('hold', 30, signal)
    assert.equal((await fetch(`${url}/readyz`)).status, 200)
    config.write({ hold: mirrorFlow(['hold'], { paused: true, naming }) })
    running.child.kill('SIGHUP')
    await readAgain(running, 2)
    assert.equal(await checkpoint('hold', 'hold', 0, signal), 20n)
    assert.equal(await arrived('hold'), 20n)

    config.write({ hold: mirrorFlow(['hold'], { naming }) })
    running.child.kill('SIGHUP')
    // Where it stands was reached in another topic: whether that counts for this one, somebody must say.
    const event = await running.line(line => line['code'] === 'destination-missing')
    assert.match(String(event['message']), /^held\.hold: .*naming has changed/)
    assert.match(String(event['hint']), /--topic hold --reset-offsets --to-current/)
    const tool = ['--bootstrap-server', set.east.bootstrap, '--group', 'millrace.hold', '--topic', 'hold']
    const reset = ['--reset-offsets', '--to-current', '--execute']
    await javaTool('org.apache.kafka.tools.consumer.group.ConsumerGroupCommand', [...tool, ...reset])
    await copied(running, 'hold', 30)
    running.child.kill('SIGTERM')
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stdout)
    assert.equal(await arrived('held.hold'), 30n)
    assert.equal(await arrived('hold'), 20n)
  })

  test('a cluster that is away at the start is waited for: not ready, told once, and the flow begins when it is back', async t => {
    const signal = soon(t)
    await made(['away-a', 'away-b'], 10, signal)
    const door = await openDoor(set.east.bootstrap)
    t.after(() => door.close())
    const config = file(t, { away: door.address })
    config.write({ 'away-a': mirrorFlow(['away-a'], { from: 'away' }), 'away-b': mirrorFlow(['away-b']) })
    const running = millrace(['run', '-c', config.path], signal)
    const url = (await running.logged(line => line['msg'] === 'listening'))['url']
    await copied(running, 'away-b', 10)
    await door.knocked(8)
    const ready = await fetch(`${url}/readyz`)
    assert.equal(ready.status, 503)
    assert.match(await ready.text(), /away-a: the clusters have not been reached yet/)
    assert.equal((await fetch(`${url}/livez`)).status, 200)

    door.open()
    await copied(running, 'away-a', 10)
    assert.equal((await fetch(`${url}/readyz`)).status, 200)
    running.child.kill('SIGTERM')
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stderr)
    const events = ended.lines.filter(line => line.type === 'event')
    assert.deepEqual(
      events.map(({ flow, code, state }) => ({ flow, code, state })),
      [{ flow: 'away-a', code: 'kafka-link-lost', state: 'unavailable' }],
    )
  })

  test('a stop while no cluster has been reached ends with 0', async t => {
    const door = await openDoor(set.east.bootstrap)
    t.after(() => door.close())
    const config = file(t, { away: door.address })
    config.write({ 'never-there': mirrorFlow(['never-there'], { from: 'away' }) })
    const running = millrace(['run', '-c', config.path], soon(t))
    await running.line(line => line['state'] === 'unavailable')
    running.child.kill('SIGTERM')
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stderr)
    assert.deepEqual(summariesOf(ended.lines), [['never-there', true, 'signal']])
  })

  test('a flow that runs twice ends, with 1 where it is alone, and in `run` the others go on', async t => {
    const signal = soon(t)
    await made(['twice-a', 'twice-b'], 10, signal)
    const config = file(t)
    config.write({ 'twice-a': mirrorFlow(['twice-a']), 'twice-b': mirrorFlow(['twice-b']) })
    const all = millrace(['run', '-c', config.path], signal)
    const flags = ['mirror', '--from', set.east.bootstrap, '--to', set.west.bootstrap, '--topics', 'twice-a']
    const alone = millrace([...flags, '--name', 'twice-alone'], signal)
    await Promise.all([copied(all, 'twice-a', 10), copied(all, 'twice-b', 10), copied(alone, 'twice-alone', 10)])

    // Two real ones would have to be out of step each time that one of them looks: this other one always is.
    const moved = setInterval(() => {
      for (const flow of ['twice-a', 'twice-alone']) {
        const entry = { topic: 'twice-a', partition: 0, offset: 3n, epoch: -1, metadata: '' }
        east.checkpoints.save(`millrace.${flow}`, [entry], () => true, signal).catch(() => {})
      }
    }, 50)
    try {
      const isTwice = (line: JsonLine) => line['code'] === 'flow-runs-twice'
      const [event, ended] = await Promise.all([all.line(isTwice), alone.ended])
      assert.deepEqual([event['flow'], event['state']], ['twice-a', 'error'])
      assert.equal(ended.code, 1, ended.stderr)
      const error = ended.lines.at(-1)?.['error'] as { code: string; hint: string }
      assert.equal(error.code, 'flow-runs-twice')
      assert.match(error.hint, /stop one of the two/)
    } finally {
      clearInterval(moved)
    }
    await write('twice-b', 10, signal)
    await copied(all, 'twice-b', 20)
    assert.equal(all.child.exitCode, null)
    all.child.kill('SIGTERM')
    const ended = await all.ended
    assert.equal(ended.code, 1, ended.stderr)
    assert.equal(await checkpoint('twice-b', 'twice-b', 0, signal), 20n)
  })

  test('SIGTERM under load ends with 0, and every checkpoint is where the copy of its partition ends', async t => {
    const signal = soon(t)
    const topics = ['term-a', 'term-b']
    await made(topics, 1_000, signal, 8)
    const config = file(t)
    config.write({ 'term-a': mirrorFlow(['term-a']), 'term-b': mirrorFlow(['term-b']) })
    const running = millrace(['run', '-c', config.path], signal)
    const writing = Promise.all(topics.map(topic => write(topic, 20_000, signal)))
    const begun = (flow: string) =>
      running.line(line => line.type === 'progress' && line['flow'] === flow && Number(line['records']) > 0)
    await Promise.all([begun('term-a'), begun('term-b')])
    running.child.kill('SIGTERM')
    const ended = await running.ended
    await writing
    assert.equal(ended.code, 0, ended.stderr)
    for (const topic of topics) {
      for (let partition = 0; partition < 8; partition++) {
        const end = await offsetOf(west, { topic, partition }, 'end')
        assert.equal(await checkpoint(topic, topic, partition, signal), end, `${topic}/${partition}`)
      }
    }
  })

  test('a file that is missing or broken ends with 2 and says where', async t => {
    const signal = soon(t)
    const config = file(t)
    config.writeText('clusters: {}\nflows:\n  a: {kind: mirorr, from: east, to: west}\n')
    const broken = await millrace(['run', '-c', config.path], signal).ended
    assert.equal(broken.code, 2)
    assert.equal(broken.stdout, '')
    assert.ok(
      broken.stderr.includes(`${config.path}:3:13 flows.a.kind: found 'mirorr', expected mirror`),
      broken.stderr,
    )
    unlinkSync(config.path)
    const missing = await millrace(['run', '-c', config.path], signal).ended
    assert.equal(missing.code, 2)
    assert.match(missing.stderr, /config-invalid: .*millrace\.yaml is not there/)
    const without = await millrace(['run'], signal).ended
    assert.equal(without.code, 2, without.stderr)
  })

  test('`millrace mirror` that reaches no broker for 30 s ends with 4', async () => {
    const ended = await givesUp.ended
    assert.equal(ended.code, 4, ended.stderr)
    const events = ended.lines.filter(line => line.type === 'event')
    assert.deepEqual(
      events.map(({ code, state }) => [code, state]),
      [['kafka-unreachable', 'unavailable']],
    )
    const { type, ok, reason, error }: JsonLine = ended.lines.at(-1) ?? { type: 'nothing' }
    assert.deepEqual([type, ok, reason], ['summary', false, 'error'])
    assert.equal((error as { code: string }).code, 'kafka-unreachable')
    // Whoever keeps stdout in a file reads why it ended, too.
    assert.match(ended.stderr, /"level":"error".*"code":"kafka-unreachable"/)
  })
})

type Door = {
  address: string
  /** When somebody has come so many times while it was shut. */
  knocked(times: number): Promise<void>
  open(): void
  close(): Promise<void>
}

/** An address at which every connection is cut, until it is opened: then it leads to the broker. */
async function openDoor(bootstrap: string): Promise<Door> {
  const [host, port] = (bootstrap.split(',')[0] ?? '').split(':')
  const sockets = new Set<Socket>()
  const waiting: { times: number; then: () => void }[] = []
  let isOpen = false
  let knocks = 0
  const server: Server = createServer(socket => {
    if (!isOpen) {
      socket.destroy()
      knocks++
      for (const one of waiting) if (one.times <= knocks) one.then()
      return
    }
    const broker = connect(Number(port), host)
    for (const [one, other] of [
      [socket, broker],
      [broker, socket],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    knocked: times =>
      new Promise(then => {
        if (knocks >= times) then()
        else waiting.push({ times, then })
      }),
    open() {
      isOpen = true
    },
    close: () =>
      new Promise(done => {
        for (const socket of sockets) socket.destroy()
        server.close(() => done())
      }),
  }
}

/** For `line` and `logged`, which go over all lines from the first on each time: the n-th that fits. */
function countOf(fits: (line: JsonLine) => boolean, times: number): (line: JsonLine) => boolean {
  const seen = new Set<JsonLine>()
  return line => {
    if (fits(line)) seen.add(line)
    return seen.size >= times
  }
}

function summariesOf(lines: readonly JsonLine[]): unknown[][] {
  return lines.filter(line => line.type === 'summary').map(({ flow, ok, reason }) => [flow, ok, reason])
}
