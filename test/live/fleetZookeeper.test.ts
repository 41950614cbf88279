import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { Secret } from '../../engine/flow/secret.ts'
import type { Coordinator, Node } from '../../engine/ports/coordinator.ts'
import { type KafkaAddress, kafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { randomPorts } from '../../rig/ports.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { phaseOf } from '../contracts/phaseOf.ts'
import { fleetFile } from './fleet/file.ts'
import { type RunningFleet, runFleet } from './fleet/runningFleet.ts'
import { startTask } from './fleet/tasks.ts'
import { mirrorFlow } from './flowsFile.ts'
import { openTo } from './proxiedSessions.ts'
import { live } from './rigFor.ts'

const longestMs = 120_000
const wishes = () => ({
  east: want(kafka, {}),
  west: want(kafka, {}),
  zk: want(zookeeper, {}),
  closed: want(zookeeper, { demandSasl: true }),
})
const read = (one: Coordinator, path: string) =>
  one.read(path).then(node => node ?? assert.fail(`${path} is not there`))
const set = (one: Coordinator, path: string, data: string, version: number | null = null) =>
  one.write([{ do: 'set', path, data, version }])

describe('documents and doors of ZooKeeper as a fleet finds them', { ...live, timeout: longestMs }, () => {
  let parts: RigSet<ReturnType<typeof wishes>>
  let fleet: RunningFleet
  let one: Coordinator
  let alive: NodeJS.Timeout
  let nowhere = ''
  const over = new AbortController()
  const ends: (() => unknown)[] = []
  const after_ = { after: ((end: () => unknown) => void ends.push(end)) as TestContext['after'] }
  const addresses = () => {
    const of = (part: { address: KafkaAddress }) => part.address.bootstrap
    return { east: of(parts.parts.east), west: of(parts.parts.west) }
  }

  before(async () => {
    alive = setInterval(() => {}, longestMs)
    parts = await rig(wishes())
    nowhere = `127.0.0.1:${await randomPorts().take()}`
    const east = openPlain('east', addresses().east)
    await east.admin.createTopic('first', 6)
    await east.admin.createTopic('second', 6)
    await east.close()
    const chroot = parts.parts.zk.chroot('documents')
    fleet = await runFleet(
      after_,
      {
        ...addresses(),
        others: { nowhere },
        ...{ zookeeper: chroot, sessionMs: 4_000, workers: 2 },
        flows: {
          first: mirrorFlow(['first']),
          second: mirrorFlow(['second']),
          third: { ...mirrorFlow(['third']), from: 'nowhere' },
        },
      },
      over.signal,
    )
    await fleet.settled({ units: 12, workers: 2 })
    const at = chroot.indexOf('/')
    one = openTo(chroot.slice(0, at), chroot.slice(at))
    await phaseOf(one, 'connected')
  })
  after(async () => {
    clearInterval(alive)
    await one?.close()
    await fleet?.stop()
    over.abort()
    for (const end of ends) await end()
    await parts?.dispose()
  })

  const controller = () => fleet.controllers[0] ?? assert.fail('no controller')
  const worker = () => fleet.workers[0] ?? assert.fail('no worker')
  /** A line of the leader's log that names the document and what is wrong with it. */
  const told = (code: string, path: string) =>
    controller().logged(line => line['code'] === code && line.msg.startsWith(path))
  const flow = (name: string) => fleet.api.done('GET', `/v1/flows/${name}`)
  const held = async () => (await fleet.api.workers()).reduce((sum, seen) => sum + seen.held, 0)
  /** Neither written over nor taken away, while the leader makes its rounds. */
  async function stays(path: string, { tag }: Node): Promise<void> {
    await delay(2_000)
    assert.equal((await read(one, path)).tag, tag)
  }

  test('a flow whose cluster cannot be reached says so, and the others run', async t => {
    const seen = await fleet.api.until(
      () => flow('third'),
      found => found['fault'] !== null,
    )
    t.diagnostic(JSON.stringify(seen['fault']))
    assert.match(JSON.stringify(seen['fault']), /kafka-unreachable|kafka-link-lost/)
    assert.equal((await flow('first'))['held'], 6)
  })

  for (const [what, text, code] of [
    ['rubbish', '{"v":1,"kind":', 'state-corrupt'],
    ['a newer version', '{"v":2,"whatever":true}', 'state-version'],
  ] as const) {
    test(`${what} in the document of a flow: it is refused by name, stays as it is, and its units run on`, async t => {
      const path = paths.flow('first')
      const good = await read(one, path)
      await set(one, path, text)
      const line = await told(code, path)
      const { status, body } = await fleet.api.ask('GET', '/v1/flows/first')
      t.diagnostic(`${line.msg}; GET: ${status} ${JSON.stringify(body).slice(0, 200)}`)
      await stays(path, await read(one, path))
      assert.equal(await held(), 12)
      assert.equal((await flow('second'))['held'], 6)
      await set(one, path, good.data)
      await fleet.api.until(
        () => flow('first'),
        found => found['fault'] === null && found['held'] === 6,
      )
    })

    test(`${what} in the wishes: the last good ones stand, and nobody writes over it`, async t => {
      await fleet.api.done('PUT', '/v1/balancing', { auto: false })
      const good = await read(one, paths.wishes)
      await set(one, paths.wishes, text)
      const line = await told(code, paths.wishes)
      const { status, body } = await fleet.api.ask('PUT', '/v1/balancing', { auto: true })
      t.diagnostic(`${line.msg}; PUT: ${status} ${JSON.stringify(body).slice(0, 200)}`)
      assert.ok(status >= 400)
      await stays(paths.wishes, await read(one, paths.wishes))
      assert.equal(await held(), 12)
      await set(one, paths.wishes, good.data)
      await fleet.api.until(
        api => api.ask('PUT', '/v1/balancing', { auto: true }),
        answer => answer.status < 300,
      )
    })

    test(`${what} in an assignment: the worker runs what it has, and the leader writes it anew`, async t => {
      const path = paths.assignment(worker().id)
      await set(one, path, text)
      const line = await told(code, path)
      assert.equal(await held(), 12)
      const isMended = async () => (await read(one, path)).data.includes('"generation"')
      await fleet.api.until(isMended, is => is)
      await fleet.settled({ units: 12, workers: 2 })
      t.diagnostic(line.msg)
    })

    test(`${what} in the report of a worker that is not there: told by name, and others are given units`, async t => {
      const path = paths.held(`gone-${code}`)
      await one.write([{ do: 'create', path, data: text, mode: 'persistent' }])
      const east = openPlain('east', addresses().east)
      await east.admin.createTopic(`more-${code}`, 4)
      await east.close()
      const spec = { from: 'east', to: 'west', topics: { include: [`more-${code}`] } }
      const sinceMs = performance.now()
      await fleet.api.done('PUT', `/v1/flows/more-${code}`, { kind: 'mirror', spec })
      await fleet.api.until(
        () => flow(`more-${code}`),
        found => found['held'] === 4,
      )
      t.diagnostic(`its units run after ${Math.round(performance.now() - sinceMs)} ms`)
      await stays(path, await read(one, path))
      await fleet.api.done('DELETE', `/v1/flows/more-${code}?force=true`)
      await one.write([{ do: 'remove', path, version: null }])
      await fleet.settled({ units: 12, workers: 2 })
    })

    test(`${what} as a worker that beats: it is given nothing, and not taken away`, async t => {
      const path = paths.worker(`odd-${code}`)
      await one.write([{ do: 'create', path, data: text, mode: 'ephemeral' }])
      let version = 0
      const beats = setInterval(() => {
        void one.beat(path, text, version).then(
          next => {
            version = next
          },
          () => {},
        )
      }, 500)
      const line = await told(code, path)
      await delay(5_000)
      clearInterval(beats)
      const seen = (await fleet.api.workers()).find(({ id }) => id === `odd-${code}`)
      t.diagnostic(`${line.msg}; ${JSON.stringify(seen).slice(0, 300)}`)
      assert.equal((await read(one, path)).data, text)
      const given = await one.read(paths.assignment(`odd-${code}`))
      assert.ok(given === null || given.data.includes('"flows":{}'))
      await one.write([{ do: 'remove', path, version: null }])
      await fleet.settled({ units: 12, workers: 2 })
    })
  }

  test('what a newer version has written beside what we know is kept by those who write', async () => {
    const later = async (path: string) => {
      const { data } = await read(one, path)
      await set(one, path, JSON.stringify({ ...JSON.parse(data), later: { x: [1] } }))
    }
    await later(paths.flow('second'))
    await later(paths.wishes)
    await fleet.api.done('POST', '/v1/flows/second/pause', { partitions: { second: '0' } })
    await fleet.api.done('PUT', '/v1/balancing', { auto: false })
    await fleet.settled({ units: 11, workers: 2 })
    await fleet.api.done('POST', '/v1/flows/second/resume', {})
    await fleet.settled({ units: 12, workers: 2 })
    for (const path of [paths.flow('second'), paths.wishes])
      assert.deepEqual(JSON.parse((await read(one, path)).data).later, { x: [1] })
    const path = paths.worker('newer')
    const { data } = await read(one, paths.worker(worker().id))
    const newer = { ...JSON.parse(data), id: 'newer', software: '9.0.0', later: true }
    await one.write([{ do: 'create', path, data: JSON.stringify(newer), mode: 'ephemeral' }])
    await fleet.api.until(
      api => api.workers(),
      all => all.some(({ id, record }) => id === 'newer' && record !== null),
    )
    await one.write([{ do: 'remove', path, version: null }])
    await fleet.settled({ units: 12, workers: 2 })
  })

  const doors = {
    'demands a login by SASL': async () => `${parts.parts.closed.address.bootstrap}/millrace-closed`,
    'holds a chroot of somebody else': async () => {
      const chroot = parts.parts.zk.chroot('theirs')
      const at = chroot.indexOf('/')
      const password = new Secret('secret', { name: 'auth', generation: 1 })
      const theirs = openTo(chroot.slice(0, at), chroot.slice(at), { auth: { user: 'other', password } })
      await phaseOf(theirs, 'connected')
      await theirs.write([{ do: 'create', path: '/flows', data: '', mode: 'persistent' }])
      await theirs.close()
      return chroot
    },
  }
  for (const [what, open] of Object.entries(doors)) {
    test(`a ZooKeeper that ${what}: coordination-denied, and the processes wait`, async t => {
      const words = { ...addresses(), zookeeper: await open(), startTimeoutSeconds: 2 }
      const file = fleetFile(t, words, { first: mirrorFlow(['first']) })
      const tasks = await Promise.all((['controller', 'worker'] as const).map(of => startTask(of, file.path, t.signal)))
      for (const task of tasks) {
        const ready = () => fetch(`${task.url}/readyz`).then(async answer => `${answer.status} ${await answer.text()}`)
        const why = await fleet.api.until(ready, text => /503.*coordination-denied/s.test(text))
        await delay(3_000)
        assert.equal((await fetch(`${task.url}/livez`)).status, 200)
        t.diagnostic(why.trim())
        assert.equal((await task.stop()).code, 0)
      }
    })
  }

  test('C-64: a controller and a worker started while ZooKeeper is away wait, and end with 75 to be started again', async t => {
    const away = `127.0.0.1:${await randomPorts().take()}/millrace`
    const file = fleetFile(t, { ...addresses(), zookeeper: away, startTimeoutSeconds: 4 }, { first: mirrorFlow(['x']) })
    const startedMs = performance.now()
    const tasks = await Promise.all((['controller', 'worker'] as const).map(of => startTask(of, file.path, t.signal)))
    for (const task of tasks) {
      const ready = () => fetch(`${task.url}/readyz`).then(async answer => `${answer.status} ${await answer.text()}`)
      await fleet.api.until(ready, text => /503.*coordination-unreachable/s.test(text))
      assert.equal((await fetch(`${task.url}/livez`)).status, 200)
    }
    const exits = await Promise.all(tasks.map(task => task.exited))
    t.diagnostic(`${JSON.stringify(exits)} after ${Math.round(performance.now() - startedMs)} ms`)
    assert.deepEqual(
      exits.map(({ code }) => code),
      [75, 75],
    )
  })
})
