import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import type { Coordinator } from '../../engine/ports/coordinator.ts'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { kafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { between, seeded } from '../../rig/seeded.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { phaseOf } from '../contracts/phaseOf.ts'
import { type Answered, type FleetApi, fleetApi } from './fleet/api.ts'
import { auditOf, watchArrivals } from './fleet/arrivals.ts'
import { startLoad } from './fleet/load.ts'
import { type RunningFleet, runFleet } from './fleet/runningFleet.ts'
import { mirrorFlow } from './flowsFile.ts'
import { millrace } from './millrace.ts'
import { openTo } from './proxiedSessions.ts'
import { live } from './rigFor.ts'

const longestMs = 240_000
/** Of each of the two topics that are there. */
const partitions = 6
const many = 50
/** So many at once may take so long on a busy machine. */
const manyMs = 40_000
const putsMax = 40
const wishes = () => ({ east: want(kafka, {}), west: want(kafka, {}), zk: want(zookeeper, {}) })

describe('the API of a fleet of two controllers', live, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  let east: KafkaCluster
  let west: KafkaCluster
  let fleet: RunningFleet
  let look: Coordinator
  let alive: NodeJS.Timeout
  const ended = new AbortController()
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(longestMs)])
  const folder = mkdtempSync(join(tmpdir(), 'millrace-api-'))
  const ends: (() => void)[] = [() => rmSync(folder, { recursive: true, force: true })]
  before(async () => {
    alive = setInterval(() => {}, longestMs)
    set = await rig(wishes())
    east = openPlain('east', set.parts.east.address.bootstrap)
    west = openPlain('west', set.parts.west.address.bootstrap)
    for (const topic of ['declared', 'asked']) await east.admin.createTopic(topic, partitions)
    const chroot = set.parts.zk.chroot('api')
    const t = { after: ((end: () => void) => void ends.push(end)) as TestContext['after'] }
    const words = {
      east: set.parts.east.address.bootstrap,
      west: set.parts.west.address.bootstrap,
      zookeeper: chroot,
      store: `file://${folder}`,
    }
    const flows = { declared: mirrorFlow(['declared']) }
    fleet = await runFleet(t, { ...words, controllers: 2, workers: 3, flows }, signal)
    await fleet.settled({ units: partitions, workers: 3 })
    const at = chroot.indexOf('/')
    look = openTo(chroot.slice(0, at), chroot.slice(at), { sessionMs: 10_000 })
    await phaseOf(look, 'connected')
  })
  after(async () => {
    clearInterval(alive)
    await fleet?.stop()
    ended.abort()
    await Promise.all([east.close(), west.close(), look?.close()])
    await set.dispose()
    for (const end of ends.reverse()) end()
  })

  const specOf = (topics: string[]) => ({ from: 'east', to: 'west', topics: { include: topics, refreshMs: 60_000 } })
  const versionOf = async (path: string) => (await look.read(path))?.version ?? -1

  test('COORDINATION 19: of 200 writes at once by two controllers none is lost, and each is one version', async t => {
    const apis = fleet.controllers.map(({ url }) => fleetApi(() => url, signal, manyMs))
    const chance = seeded('many')
    /** By one of the two. What was certainly not done, for a busy process lost its line, is asked again. */
    const ask: FleetApi['ask'] = async (...of) => {
      const answer = await (apis[between(chance, 0, apis.length - 1)] as FleetApi).ask(...of)
      if (answer.status !== 503 || answer.body['code'] !== 'coordination-unreachable') return answer
      await delay(100)
      return await ask(...of)
    }
    const flows = Array.from({ length: many }, (_, n) => `flow-${n}`)
    // The first one has units, which can be moved.
    const own = (n: number) => (n === 0 ? 'asked' : `none-${n}`)
    const made = await Promise.all(
      flows.map((flow, n) => ask('PUT', `/v1/flows/${flow}`, { kind: 'mirror', spec: specOf([own(n)]) })),
    )
    assert.deepEqual(new Set(made.map(of => of.status)), new Set([201]))
    await fleet.settled({ units: 2 * partitions, workers: 3 })
    const [first, second, drained] = (await fleet.api.workers()).map(worker => worker.id)
    const changes = { flows: flows.map(() => 0), wishes: 0, stale: 0 }
    const note = (of: Answered, n: number | null) => {
      assert.ok(of.status < 300, JSON.stringify(of))
      const { unchanged } = of.body
      if (unchanged) return
      if (n === null) changes.wishes++
      else changes.flows[n] = (changes.flows[n] ?? 0) + 1
    }
    /** Reads, adds a topic to those it copies, and writes it back under the tag that was read, until nobody was between. */
    const add = async (flow: string, n: number, topic: string): Promise<void> => {
      for (;;) {
        const { body, etag } = await ask('GET', `/v1/flows/${flow}`)
        const include = (body['spec'] as ReturnType<typeof specOf>).topics.include
        const spec = specOf([...include, topic])
        const put = await ask('PUT', `/v1/flows/${flow}`, { kind: 'mirror', spec }, { 'if-match': String(etag) })
        if (put.status !== 412) return note(put, n)
        changes.stale++
      }
    }
    const at = (n: number) => `/v1/flows/flow-${n}`
    const wish = async (path: string, body?: unknown) => note(await ask('POST', path, body), null)
    const startedMs = performance.now()
    await Promise.all([
      ...flows.flatMap((flow, n) => [
        add(flow, n, `put-${n}`),
        add(flow, n, `more-${n}`),
        ask('POST', `${at(n)}/pause`, { topics: [`paused-${n}`] }).then(of => note(of, n)),
        ask(n % 2 === 0 ? 'PUT' : 'DELETE', `${at(n)}/topics/by-hand-${n}`).then(of => note(of, n)),
      ]),
      ...Array.from({ length: partitions }, (_, p) =>
        wish(`${at(0)}/partitions/asked/${p}/move`, { to: p % 2 === 0 ? first : second }),
      ),
      wish(`/v1/workers/${drained}/drain`),
    ])
    t.diagnostic(
      `${Math.round(performance.now() - startedMs)} ms, ${changes.stale} written again, ${changes.wishes} wishes`,
    )
    for (const [n, flow] of flows.entries()) {
      const { etag, body } = await ask('GET', `/v1/flows/${flow}`)
      const { include } = (body['spec'] as ReturnType<typeof specOf>).topics
      assert.deepEqual([...include].sort(), [own(n), `put-${n}`, `more-${n}`].sort())
      const { topics, paused } = body['overlay'] as { topics: object; paused: object }
      assert.deepEqual([topics, paused], [{ [`by-hand-${n}`]: n % 2 === 0 ? 'in' : 'out' }, { [`paused-${n}`]: '*' }])
      assert.equal(await versionOf(paths.flow(flow)), changes.flows[n])
      const stale = { 'if-match': String(made[n]?.etag) }
      const [put, paused412] = await Promise.all([
        ask('PUT', at(n), { kind: 'mirror', spec: specOf([own(n)]) }, stale),
        ask('POST', `${at(n)}/pause`, {}, stale),
      ])
      assert.deepEqual([put.status, paused412.status], [412, 412])
      assert.equal((await ask('GET', at(n))).etag, etag)
    }
    assert.equal((await versionOf(paths.wishes)) + 1, changes.wishes)
    await fleet.api.done('POST', `/v1/workers/${drained}/undrain`)
    await fleet.api.until(
      api =>
        Promise.all(
          Array.from({ length: partitions }, (_, p) => api.done('GET', `/v1/flows/flow-0/partitions/asked/${p}`)),
        ),
      all => all.every(({ worker }, p) => worker === (p % 2 === 0 ? first : second)),
    )
  })

  test('COORDINATION 14: a PUT while the leader is killed is done once, or was refused', async t => {
    const { leader } = await fleet.api.done('GET', '/v1/status')
    const killed = fleet.controllers.find(controller => controller.id === leader)
    assert.ok(killed)
    const apis = fleet.controllers.map(({ url }) => fleetApi(() => url, signal))
    const statuses = new Map<string, number | null>()
    const puts: Promise<void>[] = []
    const put = async (n: number) => {
      const flow = `killed-${n}`
      const body = { kind: 'mirror', spec: specOf([`none-${flow}`]) }
      const answer = await apis[n % 2]?.ask('PUT', `/v1/flows/${flow}`, body).catch(() => null)
      statuses.set(flow, answer?.status ?? null)
    }
    for (let n = 0; n < putsMax; n++) {
      puts.push(put(n))
      if (n === putsMax / 2) void killed.kill()
      await delay(20)
    }
    await Promise.all(puts)
    await fleet.api.until(
      api => api.done('GET', '/v1/status'),
      status => status['leader'] !== leader && status['leader'] !== null,
    )
    const counts = { done: 0, refused: 0, unanswered: 0, unansweredDone: 0 }
    for (const [flow, status] of statuses) {
      const version = await versionOf(paths.flow(flow))
      if (status === 201) {
        counts.done++
        assert.equal(version, 0, flow)
      } else if (status === null) {
        counts.unanswered++
        if (version === 0) counts.unansweredDone++
        assert.ok(version <= 0, flow)
      } else {
        counts.refused++
        assert.equal(status, 503, flow)
        assert.ok(version <= 0, flow)
      }
    }
    t.diagnostic(JSON.stringify(counts))
    assert.ok(counts.done > 0)
    for (const flow of statuses.keys()) {
      await fleet.api.done('PUT', `/v1/flows/${flow}`, { kind: 'mirror', spec: specOf([`none-${flow}`]) })
      assert.equal(await versionOf(paths.flow(flow)), 0, 'said again it changes nothing')
      await fleet.api.done('DELETE', `/v1/flows/${flow}?force=true`)
    }
    await fleet.join('controller')
  })

  test('COORDINATION 22: after all data of ZooKeeper is wiped the export gives back all flows, and nothing is lost or comes twice', async t => {
    const startedMs = performance.now()
    const loads = await Promise.all(['declared', 'asked'].map(topic => loaded(topic)))
    const hand = { topics: ['by-hand'], partitions: { declared: '4-5' } }
    await fleet.api.done('POST', '/v1/flows/declared/pause', hand)
    await fleet.api.done('PUT', '/v1/flows/declared/topics/by-hand')
    await fleet.api.done('PUT', '/v1/balancing', { auto: false })
    const before = wished(await fleet.api.done('GET', '/v1/state'))
    const { epoch } = await fleet.api.done('GET', '/v1/status')
    const kept = () => wished(JSON.parse(readFileSync(join(folder, 'fleet/state.json'), 'utf8')))
    await fleet.api.until(
      async () => kept(),
      found => JSON.stringify(found) === JSON.stringify(before),
    )

    const { zk } = set.parts
    t.diagnostic(`exported after ${Math.round(performance.now() - startedMs)} ms`)
    await zk.kill()
    rmSync(join(dirname(zk.log), zk.name, 'data-1', 'version-2'), { recursive: true })
    await zk.restart()
    const wipedMs = performance.now()
    const aside = () => readdirSync(join(folder, 'fleet')).find(name => /^state-\d+\.json$/.test(name))
    await fleet.api.until(
      async () => aside(),
      name => name !== undefined,
      120_000,
    )
    await fleet.api.until(
      api => api.done('GET', '/v1/flows/declared'),
      ({ held }) => held === partitions,
      30_000,
    )
    t.diagnostic(`flows of the file run ${Math.round(performance.now() - wipedMs)} ms after the wipe`)
    const env = { MILLRACE_API: fleet.controllers.find(one => one.awake())?.url ?? '' }
    const file = join(folder, 'fleet', aside() ?? '')
    const applied = await millrace(['apply', '-f', file, '--create-only'], signal, env).ended
    assert.equal(applied.code, 0, `${applied.stdout}\n${applied.stderr}`)
    await fleet.settled({ units: 2 * partitions - 2, workers: 3 }, 30_000)
    t.diagnostic(`all flows run ${Math.round(performance.now() - wipedMs)} ms after the wipe`)
    const now = await fleet.api.done('GET', '/v1/status')
    assert.ok(Number(now['epoch']) > Number(epoch), `epoch ${now['epoch']} after ${epoch}`)
    assert.deepEqual(wished(await fleet.api.done('GET', '/v1/state')), before)
    await fleet.api.done('POST', '/v1/flows/declared/resume')
    for (const load of loads) {
      const { lost, repeated, outOfOrder, longestGapMs } = await load.audited()
      t.diagnostic(`longest gap ${Math.round(longestGapMs)} ms`)
      assert.deepEqual([lost, repeated, outOfOrder], [0, 0, 0])
    }
  })

  async function loaded(topic: string) {
    const load = startLoad(east, { topic, partitions, perSecond: 300 }, signal)
    const arrivals = await watchArrivals(west, topic, { partitions, numbersMax: 10_000 }, signal)
    await arrivals.reached(Array.from({ length: partitions }, () => 20))
    const fromMs = performance.now()
    return {
      async audited() {
        const written = await load.stop()
        await arrivals.reached(written)
        await arrivals.stop()
        return auditOf(arrivals.parts, written, { fromMs, toMs: performance.now() })
      },
    }
  }
})

/** What people wished, without when and by whom. */
function wished(state: Record<string, unknown>): unknown {
  const flows = Object.entries(state['flows'] as Record<string, Record<string, unknown>>)
  const { auto } = (state['wishes'] ?? {}) as { auto?: boolean }
  return {
    auto,
    flows: flows.map(([flow, { kind, origin, overlay, spec }]) => ({ flow, kind, origin, overlay, spec })),
  }
}
