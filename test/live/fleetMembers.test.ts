import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { leaseTimes } from '../../engine/fleet/decide/lease.ts'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { fourLetters } from '../../rig/zookeeper/fourLetters.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { type Audit, type Mark, type Scene, startScene, type Wired } from './fleet/scene.ts'
import { live } from './rigFor.ts'

/** MILLRACE_WHOLE=1: as often as COORDINATION §13 says. */
const whole = process.env['MILLRACE_WHOLE'] === '1'
const longestMs = whole ? 600_000 : 180_000
const sessionMs = 10_000
const { beatMs, closingMs, fencedMs } = leaseTimes(sessionMs)
const partitions = 20
const wishes = () => ({
  east: want(kafka, {}),
  west: want(kafka, {}),
  three: want(zookeeper, { members: 3, linked: true }),
})

describe('a fleet on three members of ZooKeeper', { ...live, timeout: longestMs }, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  let scene: Scene
  let alive: NodeJS.Timeout
  const over = new AbortController()
  before(async () => {
    alive = setInterval(() => {}, longestMs)
    set = await rig(wishes())
    const { east, west, three } = set.parts
    const [from, to] = [east.address.brokers[0], west.address.brokers[0]]
    assert.ok(from && to)
    const members = three.members.map(member => member.address)
    scene = await startScene(
      {
        ...{ east: from, west: to, zookeeper: { members, chroot: three.chroot('members') } },
        ...{ sessionMs, controllers: 1, workers: 2, topic: 'members', partitions, perSecond: 500 },
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

  /** Nothing was lost, moved or fenced: the longest gap is shorter than any pause of a lease. */
  function undisturbed(found: Audit): void {
    assert.deepEqual([found.lost, found.repeated, found.outOfOrder, found.moves], [0, 0, 0, 0])
    assert.ok(found.gapMs < closingMs - beatMs, `a gap of ${found.gapMs} ms`)
    const ejected = scene.controllers.flatMap(one => one.task.lines).filter(line => line['code'] === 'worker-ejected')
    assert.deepEqual(ejected, [])
  }
  const everyLine = () => [...scene.controllers, ...scene.workers].flatMap(one => one.lines)
  const fences = async (of: Wired) => {
    const text = await (await fetch(`${of.task.url}/metrics`)).text()
    return Number(/^millrace_fleet_fences_total\S* (\d+)/m.exec(text)?.[1] ?? Number.NaN)
  }

  async function modes(): Promise<('leader' | 'follower' | null)[]> {
    return await Promise.all(
      set.parts.three.members.map(async ({ address }) => {
        const text = await fourLetters(address.port, 'srvr').catch(() => '')
        const mode = /^Mode: (leader|follower)/m.exec(text)?.[1]
        return mode === 'leader' || mode === 'follower' ? mode : null
      }),
    )
  }

  /** Which member serves a process: the line that carries its beats. */
  async function memberOf(of: Wired): Promise<number> {
    const counts = of.lines.map(line => line.count.upBytes)
    for (;;) {
      const at = of.lines.findIndex((line, n) => line.count.upBytes > (counts[n] ?? 0))
      if (at >= 0) return at
      await delay(50, undefined, { signal: over.signal })
    }
  }

  test('COORDINATION 15: ZooKeeper is away for 3 s, and nobody notices', async t => {
    const before: Mark = scene.mark()
    await Promise.all(everyLine().map(line => line.set({ refuse: true }, {})))
    await Promise.all(everyLine().map(line => line.cut()))
    await delay(3_000)
    await Promise.all(everyLine().map(line => line.heal()))
    await delay(fencedMs)
    const found = await scene.since(before)
    t.diagnostic(JSON.stringify(found))
    undisturbed(found)
    assert.deepEqual(await Promise.all(scene.workers.map(fences)), [0, 0])
  })

  test('COORDINATION 17: the leading member is killed again and again: no fence, no move, no gap', async t => {
    const before = scene.mark()
    const fenced = await Promise.all(scene.workers.map(fences))
    let awayMs = 0
    for (let times = 0; times < (whole ? 5 : 2); times++) {
      const at = (await modes()).indexOf('leader')
      const leader = set.parts.three.members[at]
      assert.ok(leader)
      await leader.kill()
      const killedMs = performance.now()
      while (!(await modes()).includes('leader')) await delay(50, undefined, { signal: over.signal })
      const tookMs = Math.round(performance.now() - killedMs)
      awayMs = Math.max(awayMs, tookMs)
      t.diagnostic(`another member leads after ${tookMs} ms`)
      await leader.restart()
    }
    const found = await scene.since(before)
    t.diagnostic(JSON.stringify(found))
    // An election that fails costs its members another 10 s: then ZooKeeper is away, and the workers are fenced (C-63).
    if (awayMs > closingMs - beatMs) {
      assert.deepEqual([found.lost, found.repeated, found.outOfOrder, found.moves], [0, 0, 0, 0])
      return
    }
    undisturbed(found)
    assert.deepEqual(await Promise.all(scene.workers.map(fences)), fenced)
  })

  /** Cuts a following member off that serves this worker; gives it back at the end of `work`. */
  async function cutOff(worker: Wired, work: (member: number, cutMs: number) => Promise<void>): Promise<void> {
    const follower = (await modes()).indexOf('follower')
    assert.ok(follower >= 0)
    const others = worker.lines.filter((_, n) => n !== follower)
    // It is driven to that member, and may leave it again.
    await Promise.all(others.map(line => line.set({ refuse: true }, {})))
    await Promise.all(others.map(line => line.cut()))
    while ((await memberOf(worker)) !== follower);
    const cutMs = performance.now()
    await set.parts.three.cutOff(follower + 1)
    try {
      await work(follower, cutMs)
    } finally {
      await set.parts.three.cutOff(null)
      await Promise.all(others.map(line => line.heal()))
    }
  }

  test('COORDINATION 17: the member that serves a worker is cut off from the others: the worker goes to another', async t => {
    const before = scene.mark()
    const [worker] = scene.workers
    assert.ok(worker)
    const fenced = await fences(worker)
    await cutOff(worker, async (member, cutMs) => {
      await Promise.all(worker.lines.map(line => line.heal()))
      const counts = worker.lines.map(line => line.count.downBytes)
      const moved = () => worker.lines.some((line, n) => n !== member && line.count.downBytes > (counts[n] ?? 0) + 100)
      while (!moved()) await delay(50, undefined, { signal: over.signal })
      t.diagnostic(`on another member ${Math.round(performance.now() - cutMs)} ms after the cut`)
    })
    const found = await scene.since(before)
    t.diagnostic(JSON.stringify(found))
    undisturbed(found)
    assert.equal(await fences(worker), fenced)
  })

  test('COORDINATION 17: a worker that knows only a member which is cut off is fenced, though its reads are answered', async t => {
    const before = scene.mark()
    const worker = scene.workers[1]
    assert.ok(worker)
    const units = scene.owners.unitsOf(worker.task.id)
    const fenced = await fences(worker)
    await cutOff(worker, async (_member, cutMs) => {
      while ((await fences(worker)) === fenced) await delay(50, undefined, { signal: over.signal })
      const fencedAfterMs = performance.now() - cutMs
      const other = scene.workers.find(one => one !== worker)
      assert.ok(other)
      const last = worker.produces().at(-1)?.atMs ?? 0
      await scene.owners.until(found => [...units].every(unit => found.get(unit) === other.task.id))
      t.diagnostic(
        `its last produce ${Math.round(last - cutMs)} ms, its fence ${Math.round(fencedAfterMs)} ms after the cut; ` +
          `its units were given away after ${Math.round(performance.now() - cutMs)} ms`,
      )
      assert.ok(last <= cutMs + closingMs + 200)
      assert.deepEqual([...worker.produces(cutMs + fencedMs), ...worker.commits(cutMs + fencedMs)], [])
    })
    const found = await scene.since(before)
    t.diagnostic(JSON.stringify(found))
    assert.deepEqual([found.lost, found.outOfOrder], [0, 0])
    await scene.fleet.settled({ units: partitions, workers: 2 })
  })
})
