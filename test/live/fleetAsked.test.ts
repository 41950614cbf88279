import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { kafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { sampleBatch, send } from '../../rig/samples.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { type Arrivals, auditOf, longestGap, watchArrivals } from './fleet/arrivals.ts'
import { type Load, startLoad } from './fleet/load.ts'
import { type Owners, watchOwners } from './fleet/owners.ts'
import { type RunningFleet, runFleet } from './fleet/runningFleet.ts'
import type { RunningTask } from './fleet/tasks.ts'
import { mirrorFlow } from './flowsFile.ts'
import { partitionsAt, settingsOf, untilEnd, write } from './mirrorPlaces.ts'
import { openTo } from './proxiedSessions.ts'
import { live } from './rigFor.ts'

const longestMs = 300_000
const partitions = 300
/** For what runs beside the fleet on the machine. */
const slackMs = 3_000
const wishes = () => ({ east: want(kafka, {}), west: want(kafka, {}), zk: want(zookeeper, {}) })
const ms = (n: number) => `${Math.round(n)} ms`

describe('a fleet is asked for things', { ...live, timeout: longestMs }, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  let east: KafkaCluster
  let west: KafkaCluster
  let fleet: RunningFleet
  let owners: Owners
  let running: { load: Load; arrivals: Arrivals }
  let alive: NodeJS.Timeout
  const over = new AbortController()
  const { signal } = over
  const ends: (() => unknown)[] = []
  before(async () => {
    alive = setInterval(() => {}, longestMs)
    set = await rig(wishes())
    const { east: from, west: to, zk } = set.parts
    east = openPlain('east', from.address.bootstrap)
    west = openPlain('west', to.address.bootstrap)
    await east.admin.createTopic('many', partitions)
    const chroot = zk.chroot('asked')
    fleet = await runFleet(
      { after: (end: () => unknown) => void ends.push(end) } as never,
      {
        ...{ east: from.address.bootstrap, west: to.address.bootstrap, zookeeper: chroot },
        ...{ flows: { many: mirrorFlow(['many']) }, controllers: 2, workers: 3 },
      },
      signal,
    )
    const slash = chroot.indexOf('/')
    const open = () => openTo(chroot.slice(0, slash), chroot.slice(slash), { sessionMs: 10_000 })
    owners = watchOwners(open, signal)
    await fleet.settled({ units: partitions, workers: 3 })
    await owners.until(found => found.size === partitions)
  })
  after(async () => {
    clearInterval(alive)
    await fleet?.stop()
    await owners?.stop()
    await running?.arrivals.stop()
    over.abort()
    for (const end of ends) await end()
    await Promise.all([east?.close(), west?.close()])
    await set?.dispose()
  })

  const workersNow = () => fleet.api.workers()
  /** Each worker that has units has so many, and nothing is on its way. */
  const each = (held: number, workers: number, withinMs = 60_000) =>
    fleet.api.until(
      workersNow,
      seen =>
        seen.every(one => one.held === (one.units ?? 0) && (one.held === 0 || one.held === held)) &&
        seen.filter(one => one.held > 0).length === workers,
      withinMs,
    )
  const ownedBy = (found: ReadonlyMap<string, string>, flow: string) =>
    new Map([...found].filter(([unit]) => unit.startsWith(`${flow}/`)))
  /** Units of `before` that somebody else has now. */
  const changed = (before: ReadonlyMap<string, string>) =>
    [...before].filter(([unit, owner]) => owners.now().get(unit) !== owner)
  const isGone = (flow: string) =>
    fleet.api.until(
      async api => (await api.ask('GET', `/v1/flows/${flow}`)).status,
      status => status === 404,
    )
  const flowNow = async (flow: string) => await fleet.api.done('GET', `/v1/flows/${flow}`)
  const holds = (flow: string, held: number, withinMs = 60_000) =>
    fleet.api.until(
      () => flowNow(flow),
      now => now['wanted'] === held && now['held'] === held,
      withinMs,
    )

  test('COORDINATION 10: a fourth worker beside three with a hundred idle units each gets exactly 75, each moved once', async t => {
    const before = owners.now()
    const coming = await fleet.join('worker')
    const joinedMs = performance.now()
    await each(75, 4)
    const tookMs = performance.now() - joinedMs
    await owners.until(now => [...now.values()].filter(owner => owner === coming.id).length === 75)
    t.diagnostic(`even after ${ms(tookMs)}, ${owners.moves()} moves`)
    assert.equal(owners.moves(), 75)
    assert.ok(changed(before).every(([unit]) => owners.now().get(unit) === coming.id))
  })

  test('COORDINATION 20: a drain that is taken back in the middle leaves where it is what has not moved yet', async t => {
    await fleet.api.done('PUT', '/v1/balancing', { auto: false })
    const [{ id } = { id: '' }] = fleet.workers
    const [before, moves] = [owners.now(), owners.moves()]
    // More than one round may move (C-55).
    assert.equal(owners.unitsOf(id).size, 75)
    await fleet.api.done('POST', `/v1/workers/${id}/drain`)
    await owners.until(() => owners.unitsOf(id).size < 75)
    await fleet.api.done('POST', `/v1/workers/${id}/undrain`)
    await fleet.api.until(workersNow, seen => seen.every(one => one.held === one.units))
    await owners.until(now => now.size === partitions)
    const kept = owners.unitsOf(id).size
    t.diagnostic(`${kept} of 75 stay`)
    assert.equal(owners.moves() - moves, 75 - kept)
    assert.ok(changed(before).every(([, owner]) => owner === id))
    await fleet.api.done('PUT', '/v1/balancing', { auto: true })
    await fleet.api.done('POST', '/v1/rebalance')
    await each(75, 4)
    // What has left comes back, and nothing else moves.
    await owners.until(() => changed(before).length === 0)
  })

  test('COORDINATION 9: a flow that is put is spread in one generation, and what it grows by too, from its first record', async t => {
    await east.admin.createTopic('nine', 32)
    const generations = async () => (await workersNow()).map(one => one.wanted?.generation ?? 0)
    const generation = Math.max(...(await generations()))
    const spec = { from: 'east', to: 'west', topics: { names: ['nine'], refreshMs: 1_000 }, start: 'latest' }
    const put = () => fleet.api.ask('PUT', '/v1/flows/nine', { kind: 'mirror', spec })
    const putMs = performance.now()
    assert.equal((await put()).status, 201)
    const answeredMs = performance.now() - putMs
    await each(83, 4)
    const heldMs = performance.now() - putMs
    assert.deepEqual(new Set(await generations()), new Set([generation + 1]))
    const again = await put()
    assert.deepEqual([again.status, again.body['unchanged']], [200, true])
    await owners.until(now => ownedBy(now, 'nine').size === 32)
    const before = owners.now()
    await east.admin.growTopic('nine', 64)
    const fresh = Array.from({ length: 32 }, (_, n) => ({ topic: 'nine', partition: 32 + n }))
    await Promise.all(fresh.map(part => write(east, part, [0, 10], signal)))
    await each(91, 4)
    await Promise.all(fresh.map(part => untilEnd(west, part, 10, signal)))
    await owners.until(now => ownedBy(now, 'nine').size === 64)
    t.diagnostic(`answered after ${ms(answeredMs)}, all held after ${ms(heldMs)}`)
    assert.ok(heldMs <= 5_000 + slackMs)
    assert.deepEqual(changed(before), [])
    assert.equal((await fleet.api.ask('DELETE', '/v1/flows/nine?force=true')).status, 202)
    await isGone('nine')
    await each(75, 4)
  })

  test('MIRROR 9: under load a topic is put into a flow of the file, and thirty of a burst of forty appear; nobody else moves', async t => {
    const load = startLoad(east, { topic: 'many', partitions, perSecond: partitions }, signal)
    const arrivals = await watchArrivals(west, 'many', { partitions, numbersMax: 1_000 }, signal)
    running = { load, arrivals }
    await arrivals.reached(Array.from({ length: partitions }, () => 1))
    const [moves, fromMs] = [owners.moves(), performance.now()]
    await east.admin.createTopic('late', 32, { configs: { 'retention.ms': '7654321' } })
    const put = async () => (await fleet.api.ask('PUT', '/v1/flows/many/topics/late')).status
    assert.deepEqual([await put(), await put()], [201, 200])
    await each(83, 4)
    assert.equal(await partitionsAt(west, 'late'), 32)
    assert.equal((await settingsOf(west, 'late'))['retention.ms'], '7654321')
    const topics = { include: ['burst\\..*'], exclude: ['burst\\.x.*'], refreshMs: 1_000 }
    const spec = { from: 'east', to: 'west', topics }
    await fleet.api.done('PUT', '/v1/flows/burst', { kind: 'mirror', spec })
    const burst = Array.from({ length: 40 }, (_, n) => (n < 10 ? `burst.x${n}` : `burst.${n}`))
    await Promise.all(burst.map(topic => east.admin.createTopic(topic, 1)))
    const madeMs = performance.now()
    await holds('burst', 30)
    const tookMs = performance.now() - madeMs
    const { topics: there } = await west.admin.look('all')
    assert.equal(there.filter(({ topic }) => topic.startsWith('burst.')).length, 30)
    const pauseMs = Math.max(...arrivals.parts.map(part => longestGap(part.atMs, { fromMs, toMs: performance.now() })))
    t.diagnostic(`the burst is held after ${ms(tookMs)}; the longest gap of the others ${ms(pauseMs)} of 1 000 usual`)
    assert.equal(owners.moves(), moves)
    await fleet.api.done('DELETE', '/v1/flows/burst?force=true')
    assert.equal((await fleet.api.ask('DELETE', '/v1/flows/many/topics/late')).status, 200)
    await isGone('burst')
    await each(75, 4)
    assert.equal(await partitionsAt(west, 'late'), 32)
  })

  /** Of those that moved: how long nothing came, less the second between two records, and of the others. */
  function pausesOf(moved: ReadonlySet<string>, fromMs: number) {
    const within = { fromMs, toMs: performance.now() }
    const [own, others] = [true, false].map(is => {
      const parts = running.arrivals.parts.filter(({ partition }) => moved.has(`many/many/${partition}`) === is)
      return parts.map(({ atMs }) => longestGap(atMs, within) - 1_000).sort((a, b) => a - b)
    })
    const at = (sorted: readonly number[] = [], share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
    const text = `p50 ${ms(at(own, 0.5))}, p95 ${ms(at(own, 0.95))}, worst ${ms(at(own, 1))}`
    // A machine that is short of time holds up all of them.
    return { moreMs: at(own, 1) - at(others, 1), text: `${text}, of the others ${ms(at(others, 1))}` }
  }

  test('MIRROR 11: a worker that leaves under an even load has its 75 moved, and nothing comes twice', async t => {
    const { load, arrivals } = running
    const [moves, fromMs] = [owners.moves(), performance.now()]
    const leaving = fleet.workers.shift()
    const units = owners.unitsOf(leaving?.id ?? '')
    assert.deepEqual(await leaving?.stop(), { code: 0, signal: null })
    await fleet.settled({ units: partitions, workers: 3 })
    const written = [...load.acked]
    await arrivals.reached(written)
    const found = auditOf(arrivals.parts, written, { fromMs, toMs: performance.now() })
    t.diagnostic(`pause ${pausesOf(units, fromMs).text}; ${found.repeated} repeated`)
    assert.deepEqual([found.lost, found.repeated, found.outOfOrder], [0, 0, 0])
    assert.equal(owners.moves() - moves, 75)
  })

  test('COORDINATION 10: under an even load a fourth worker gets 75, give or take two, none moves twice, and it is clean', async t => {
    const { load, arrivals } = running
    const [before, moved, moves, fromMs] = [owners.now(), owners.movesOf(), owners.moves(), performance.now()]
    const coming = await fleet.join('worker')
    const has = (seen: Awaited<ReturnType<typeof workersNow>>) => seen.find(one => one.id === coming.id)?.held ?? 0
    await fleet.api.until(workersNow, seen => has(seen) >= 73)
    await fleet.settled({ units: partitions, workers: 4 })
    const written = [...load.acked]
    await arrivals.reached(written)
    const found = auditOf(arrivals.parts, written, { fromMs, toMs: performance.now() })
    const ours = changed(before)
    const { text, moreMs } = pausesOf(new Set(new Map(ours).keys()), fromMs)
    t.diagnostic(`${owners.moves() - moves} moves, pause ${text}`)
    assert.deepEqual([found.lost, found.repeated, found.outOfOrder], [0, 0, 0])
    assert.ok(Math.abs(owners.moves() - moves - 75) <= 2)
    assert.ok(ours.every(([unit]) => owners.now().get(unit) === coming.id))
    assert.ok([...owners.movesOf()].every(([unit, times]) => times - (moved.get(unit) ?? 0) <= 1))
    assert.ok(moreMs < 2_000 + slackMs)
    await load.stop()
  })

  /** The flow of the file beside the large one. */
  function edit(names: string[], more: Record<string, unknown> = {}): void {
    const edited = mirrorFlow([], { topics: { names, refreshMs: 1_000 }, destination: { config: { sync: false } } })
    fleet.file.write({ many: mirrorFlow(['many']), edited: { ...edited, ...more } })
    for (const controller of fleet.controllers) controller.child.kill('SIGHUP')
  }
  const leader = async (): Promise<RunningTask> => {
    const { leader: id } = await fleet.api.done('GET', '/v1/status')
    const found = fleet.controllers.find(one => one.id === id)
    assert.ok(found)
    return found
  }
  const without = (list: RunningTask[], task: RunningTask) => void list.splice(list.indexOf(task), 1)

  test('COORDINATION 21: what people changed of a flow of the file outlives an edit of the file, and its spec is the file', async t => {
    await east.admin.createTopic('edit.a', 8)
    await east.admin.createTopic('edit.b', 4)
    edit(['edit.a', 'edit.b'])
    await holds('edited', 12)
    assert.equal((await fleet.api.ask('DELETE', '/v1/flows/edited/topics/edit.b')).status, 200)
    await fleet.api.done('POST', '/v1/flows/edited/pause?wait=10', { partitions: { 'edit.a': '0-3' } })
    await holds('edited', 4)
    const { overlay } = await flowNow('edited')
    assert.deepEqual(overlay, { topics: { 'edit.b': 'out' }, paused: { 'edit.a': '0-3' }, skips: {} })
    await east.admin.createTopic('edit.c', 2)
    const editedMs = performance.now()
    edit(['edit.a', 'edit.b', 'edit.c'])
    await holds('edited', 6)
    t.diagnostic(`an edit runs after ${ms(performance.now() - editedMs)}`)
    assert.ok(performance.now() - editedMs <= 3_000 + slackMs)
    const now = await flowNow('edited')
    assert.deepEqual(now['overlay'], overlay)
    const spec = { from: 'east', to: 'west', topics: { names: ['edit.c'] } }
    const refused = await fleet.api.ask('PUT', '/v1/flows/edited', { kind: 'mirror', spec })
    assert.deepEqual([refused.status, refused.body['code']], [409, 'conflict'])
  })

  test('COORDINATION 21: a unit that is moved is there within 2 s, and stays over five rebalances', async t => {
    const unit = 'edited/edit.a/5'
    const to = fleet.workers.find(({ id }) => id !== owners.now().get(unit))?.id
    assert.ok(to)
    const movedMs = performance.now()
    await fleet.api.done('POST', '/v1/flows/edited/partitions/edit.a/5/move', { to })
    await owners.until(now => now.get(unit) === to)
    await fleet.settled({ units: partitions + 6, workers: 4 })
    const tookMs = performance.now() - movedMs
    t.diagnostic(`there after ${ms(tookMs)}`)
    assert.ok(tookMs <= 2_000 + slackMs)
    for (let n = 0; n < 5; n++) {
      await fleet.api.done('POST', '/v1/rebalance')
      await fleet.api.until(
        async api => (await api.done('GET', '/v1/state'))['wishes'] as { rebalance: number },
        ({ rebalance }) => rebalance === 0,
      )
      await fleet.settled({ units: partitions + 6, workers: 4 })
    }
    assert.equal(owners.now().get(unit), to)
  })

  test('COORDINATION 21: a skip that is asked for while leader and owner are killed is done by those who come after', async t => {
    const part = { topic: 'edit.err', partition: 0 }
    await Promise.all([
      east.admin.createTopic(part.topic, 1, { configs: { 'max.message.bytes': '4194304' } }),
      west.admin.createTopic(part.topic, 1, { configs: { 'max.message.bytes': '100000' } }),
    ])
    const batches = Array.from({ length: 12 }, (_, n) =>
      sampleBatch([{ timestamp: BigInt(Date.now()), key: null, value: sizedValue(n), headers: [] }], 'none'),
    )
    await send(east, part, batches, signal)
    edit(['edit.a', 'edit.b', 'edit.c', part.topic])
    const path = `/v1/flows/edited/partitions/${part.topic}/0`
    await fleet.api.until(
      api => api.done('GET', path),
      ({ error }) => (error as { code: string; offset: string } | null)?.offset === '9',
    )
    const skip = (offset: number) => fleet.api.ask('POST', `${path}/skip`, { offset, records: 1 })
    assert.equal((await skip(7)).status, 409)
    await untilEnd(west, part, 9, signal)
    const owner = fleet.workers.find(({ id }) => id === owners.now().get(`edited/${part.topic}/0`))
    assert.ok(owner)
    const old = await leader()
    owner.pause()
    assert.equal((await skip(9)).status, 202)
    const killedMs = performance.now()
    await Promise.all([owner.kill(), old.kill()])
    without(fleet.workers, owner)
    without(fleet.controllers, old)
    await untilEnd(west, part, 11, signal)
    const passedMs = performance.now() - killedMs
    await fleet.api.until(
      () => flowNow('edited'),
      ({ overlay }) => Object.keys((overlay as { skips: object }).skips).length === 0,
    )
    const goneMs = performance.now() - killedMs
    t.diagnostic(`passed ${ms(passedMs)} after the kills, its entry gone after ${ms(goneMs)}`)
    // Two leases, and a look of the next leader at its checkpoint.
    assert.ok(goneMs <= 2 * 8_000 + 10_000 + slackMs)
  })
})

/** The tenth is too large for the destination. */
function sizedValue(n: number): Buffer {
  return Buffer.alloc(n === 9 ? 200_000 : 100, 'v')
}
