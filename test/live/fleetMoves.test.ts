import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { leaseTimes } from '../../engine/fleet/decide/lease.ts'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { longestGap } from './fleet/arrivals.ts'
import { partitionOf } from './fleet/owners.ts'
import { type Scene, startScene, type Wired } from './fleet/scene.ts'
import { live } from './rigFor.ts'

/** MILLRACE_WHOLE=1: more of all than CI has time and cores for. Else R-load (COORDINATION §13). */
const whole = process.env['MILLRACE_WHOLE'] === '1'
const [count, partitions, perSecond] = whole ? [6, 200, 20_000] : [3, 60, 3_000]
/** By so many units a worker may have more or less than its share. */
const uneven = whole ? 10 : 2
const sessionMs = 10_000
const { closingMs, fencedMs, takeoverMs, lookMs } = leaseTimes(sessionMs)
/** For what runs beside the fleet on the machine. */
const slackMs = 3_000
const longestMs = whole ? 900_000 : 240_000
const all = Array.from({ length: partitions }, (_, n) => n)
const wishes = () => ({ east: want(kafka, {}), west: want(kafka, {}), zk: want(zookeeper, {}) })

describe('workers that come, go and die under load', { ...live, timeout: longestMs }, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  let scene: Scene
  let alive: NodeJS.Timeout
  const over = new AbortController()
  before(async () => {
    alive = setInterval(() => {}, longestMs)
    set = await rig(wishes())
    const { east, west, zk } = set.parts
    const [from, to] = [east.address.brokers[0], west.address.brokers[0]]
    assert.ok(from && to)
    scene = await startScene(
      {
        east: from,
        west: to,
        zookeeper: { members: zk.members.map(member => member.address), chroot: zk.chroot('moves') },
        ...{ sessionMs, controllers: 1, workers: count, topic: 'moves', partitions, perSecond },
      },
      over.signal,
    )
  })
  after(async () => {
    clearInterval(alive)
    await scene?.end()
    over.abort()
    await set?.dispose()
  })

  const ms = (n: number) => `${Math.round(n)} ms`
  const workersNow = () => scene.fleet.api.workers()
  const settled = (workers: number) => scene.fleet.settled({ units: partitions, workers }, 60_000)
  /** Takes the one that has been here for longest out of the list of those that live. */
  function oldest(): { worker: Wired; parts: Set<number> } {
    const worker = scene.workers.shift()
    assert.ok(worker)
    const parts = new Set([...scene.owners.unitsOf(worker.task.id)].map(partitionOf))
    assert.ok(Math.abs(parts.size - partitions / count) <= uneven, `${parts.size} units`)
    return { worker, parts }
  }
  const repeatedNow = () => scene.arrivals.parts.map(part => part.repeated)
  /** The partitions in which something came twice since then. */
  const repeatedIn = (before: readonly number[]) =>
    scene.arrivals.parts.filter(part => part.repeated > (before[part.partition] ?? 0)).map(part => part.partition)
  /** By partition the longest time in which nothing came. */
  function pauses(parts: Iterable<number>, fromMs: number) {
    const within = { fromMs, toMs: performance.now() }
    const sorted = [...parts].map(n => longestGap(scene.arrivals.parts[n]?.atMs ?? [], within)).sort((a, b) => a - b)
    const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
    return { worstMs: at(1), text: `p50 ${ms(at(0.5))}, p95 ${ms(at(0.95))}, worst ${ms(at(1))}` }
  }
  async function recordsPerSecond(parts: Iterable<number>, forMs: number): Promise<number> {
    const of = [...parts]
    const sum = () => of.reduce((all, n) => all + (scene.arrivals.parts[n]?.records ?? 0), 0)
    const [from, fromMs] = [sum(), performance.now()]
    await delay(forMs)
    return ((sum() - from) / (performance.now() - fromMs)) * 1_000
  }
  const otherThan = (parts: ReadonlySet<number>) => all.filter(n => !parts.has(n))
  /** What copies much differs, and is even by weight, not by number. */
  const even = async () => void (whole ? await settled(count) : await scene.even(count))
  const auto = (is: boolean) => scene.fleet.api.done('PUT', '/v1/balancing', { auto: is })
  const drained = (id: string, is: 'drain' | 'undrain') => scene.fleet.api.ask('POST', `/v1/workers/${id}/${is}`)

  test('COORDINATION 12: in a rolling deployment each unit moves at most twice, and nothing is lost or comes twice', async t => {
    const [mark, moved] = [scene.mark(), scene.owners.movesOf()]
    for (let n = 0; n < count; n++) {
      await scene.join('worker')
      await settled(count + 1)
      const old = scene.workers.shift()
      assert.deepEqual(await old?.task.stop(), { code: 0, signal: null })
      await settled(count)
    }
    const found = await scene.since(mark)
    const times = [...scene.owners.movesOf()].map(([unit, of]) => of - (moved.get(unit) ?? 0))
    t.diagnostic(`moves a unit ${Math.max(...times)} at most; ${pauses(all, mark.atMs).text}; ${JSON.stringify(found)}`)
    assert.deepEqual([found.lost, found.repeated, found.outOfOrder], [0, 0, 0])
    assert.ok(Math.max(...times) <= (whole ? 3 : 2))
    await even()
  })

  test('COORDINATION 12: a worker that is told to stop hands over: exit 0, nothing is lost and nothing comes twice', async t => {
    const mark = scene.mark()
    const { worker, parts } = oldest()
    assert.deepEqual(await worker.task.stop(), { code: 0, signal: null })
    const tookMs = performance.now() - mark.atMs
    await settled(count - 1)
    const found = await scene.since(mark)
    const { text, worstMs } = pauses(parts, mark.atMs)
    t.diagnostic(`exit after ${ms(tookMs)}; its partitions pause ${text}; ${JSON.stringify(found)}`)
    assert.deepEqual([found.lost, found.repeated, found.outOfOrder, found.moves], [0, 0, 0, parts.size])
    assert.ok(tookMs <= 5_000 + slackMs)
    // Nobody waits for a lease.
    assert.ok(worstMs < takeoverMs)
    await scene.join('worker')
    await even()
  })

  test('COORDINATION 11: a worker is killed: its partitions go on elsewhere within 12 s, and the others never pause', async t => {
    const { worker, parts } = oldest()
    const usual = await recordsPerSecond(otherThan(parts), 3_000)
    const [mark, repeated] = [scene.mark(), repeatedNow()]
    await worker.task.kill()
    const during = await recordsPerSecond(otherThan(parts), 5_000)
    await settled(count - 1)
    const found = await scene.since(mark)
    const [own, others] = [pauses(parts, mark.atMs), pauses(otherThan(parts), mark.atMs)]
    t.diagnostic(
      `its partitions pause ${own.text}; the others ${others.text}, ` +
        `at ${Math.round((100 * during) / usual)} % of ${Math.round(usual)} records/s; ${JSON.stringify(found)}`,
    )
    assert.deepEqual([found.lost, found.outOfOrder, found.moves], [0, 0, parts.size])
    assert.ok(own.worstMs <= 12_000)
    assert.ok(others.worstMs < closingMs)
    assert.ok(found.repeated <= (perSecond / partitions) * parts.size * 2)
    assert.deepEqual(
      repeatedIn(repeated).filter(n => !parts.has(n)),
      [],
    )
    await scene.join('worker')
    await even()
  })

  test('COORDINATION 20: with auto off the units of the dead are served and nothing else moves, until a rebalance is asked for', async t => {
    const { api } = scene.fleet
    await auto(false)
    const mark = scene.mark()
    const { worker, parts } = oldest()
    await worker.task.kill()
    await settled(count - 1)
    await scene.join('worker')
    await api.until(workersNow, seen => seen.filter(one => one.state === 'ready').length === count)
    // As long as two rounds of balance are apart (C-55).
    await delay(10_000)
    const moves = scene.owners.moves() - mark.moves
    await api.done('POST', '/v1/rebalance')
    await settled(count)
    const { wishes } = (await api.done('GET', '/v1/state')) as { wishes: { auto: boolean; rebalance: number } }
    const found = await scene.since(mark)
    t.diagnostic(`${moves} moves before the rebalance; ${JSON.stringify(found)}`)
    assert.equal(moves, parts.size)
    assert.deepEqual([wishes.auto, wishes.rebalance], [false, 0])
    assert.deepEqual([found.lost, found.outOfOrder], [0, 0])
    for (const one of await workersNow()) assert.ok(one.held === 0 || Math.abs(one.held - partitions / count) <= uneven)
    await auto(true)
    await even()
  })

  test('COORDINATION 20: a worker that is drained hands over and is released; the last one keeps what nobody can take', async t => {
    const { api } = scene.fleet
    const mark = scene.mark()
    const [first, ...others] = scene.workers.map(({ task }) => task.id)
    assert.ok(first)
    const parts = new Set([...scene.owners.unitsOf(first)].map(partitionOf))
    const seen = () => workersNow().then(all => all.find(one => one.id === first))
    assert.equal((await drained(first, 'drain')).status, 202)
    const released = await api.until(seen, one => one?.released === true)
    assert.deepEqual([released?.units, released?.held], [0, 0])
    assert.equal((await drained(first, 'drain')).status, 200)
    assert.equal((await drained('nobody', 'drain')).status, 404)
    await scene.arrivals.reached(scene.load.acked)
    const { text, worstMs } = pauses(parts, mark.atMs)
    for (const id of others.slice(1)) {
      await drained(id, 'drain')
      await api.until(workersNow, all => all.find(one => one.id === id)?.released === true)
    }
    const last = await drained(others[0] ?? '', 'drain')
    assert.deepEqual([last.status, last.body['blockedCount']], [202, partitions])
    const found = await scene.since(mark)
    t.diagnostic(`drained units pause ${text}; ${JSON.stringify(found)}`)
    assert.deepEqual([found.lost, found.repeated, found.outOfOrder], [0, 0, 0])
    assert.ok(worstMs < takeoverMs)
    for (const id of [first, ...others]) await drained(id, 'undrain')
    await even()
  })

  test('MIRROR 13: a worker that slept past its session sends nothing when it wakes, and comes back with nothing held', async t => {
    const mark = scene.mark()
    const { worker, parts } = oldest()
    worker.task.pause()
    await settled(count - 1)
    await scene.arrivals.reached(scene.load.acked)
    await delay(Math.max(0, mark.atMs + fencedMs + 1_000 - performance.now()))
    await auto(false)
    const awakeMs = performance.now()
    worker.task.resume()
    const id = worker.task.id
    await scene.fleet.api.until(workersNow, all => all.some(one => one.id === id && one.heldState === 'running'))
    const backMs = performance.now() - awakeMs
    const found = await scene.since(mark)
    t.diagnostic(`back ${ms(backMs)} after waking; ${JSON.stringify(found)}`)
    assert.deepEqual([...worker.produces(awakeMs), ...worker.commits(awakeMs)], [])
    assert.deepEqual([found.lost, found.outOfOrder, found.moves], [0, 0, parts.size])
    assert.equal((await workersNow()).find(one => one.id === id)?.held, 0)
    scene.workers.push(worker)
    await auto(true)
    await even()
  })

  test('MIRROR 12: with a worker killed and all controllers too the others go on, and its partitions when one is back', async t => {
    const [mark, repeated] = [scene.mark(), repeatedNow()]
    const { worker, parts } = oldest()
    const owners = scene.owners.now()
    await Promise.all([worker, ...scene.controllers.splice(0)].map(({ task }) => task.kill()))
    await delay(sessionMs + lookMs)
    const others = pauses(otherThan(parts), mark.atMs)
    const startedMs = performance.now()
    await scene.join('controller')
    await settled(count - 1)
    const tookMs = performance.now() - startedMs
    const found = await scene.since(mark)
    const kept = [...scene.owners.now()].filter(([unit, owner]) => owners.get(unit) === owner).length
    t.diagnostic(`the others pause ${others.text}; back after ${ms(tookMs)}; ${JSON.stringify(found)}`)
    assert.deepEqual([found.lost, found.outOfOrder, found.moves], [0, 0, parts.size])
    assert.equal(kept, partitions - parts.size)
    assert.deepEqual(
      repeatedIn(repeated).filter(n => !parts.has(n)),
      [],
    )
    assert.ok(others.worstMs < closingMs)
  })
})
