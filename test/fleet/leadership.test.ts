import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MillraceError } from '../../engine/errors.ts'
import { readEpoch } from '../../engine/fleet/decide/documents/epoch.ts'
import { writeHeld } from '../../engine/fleet/decide/documents/held.ts'
import { paths } from '../../engine/fleet/decide/documents/paths.ts'
import { startCandidacy } from '../../engine/fleet/leadership.ts'
import type { Office } from '../../engine/fleet/office.ts'
import { type ManualClock, manualClock } from '../fakes/clock.ts'
import { fleetTree } from './sessions.ts'

type Fleet = ReturnType<typeof fleetTree>
type Leads = (office: Office) => Promise<void>

const untilOver: Leads = office =>
  new Promise(resolve => office.signal.addEventListener('abort', () => resolve(), { once: true }))

function controller(
  fleet: Fleet,
  clock: ManualClock,
  id: string,
  more: { lead?: Leads; store?: { epoch(): Promise<number | null> } } = {},
) {
  const line = fleet.line()
  const stop = new AbortController()
  const offices: Office[] = []
  const candidacy = startCandidacy({
    identity: { id, url: `http://${id}`, software: '1' },
    ...{ open: line.open, sessionMs: 10_000, clock, uptimeMs: clock.nowMs, chance: () => 0.5 },
    store: more.store ?? null,
    tell() {},
    stop: stop.signal,
    async lead(office) {
      offices.push(office)
      await (more.lead ?? untilOver)(office)
    },
  })
  let over = false
  void candidacy.done.finally(() => {
    over = true
  })
  return {
    ...{ line, stop, offices, candidacy },
    leading: () => candidacy.state().leading,
    over: () => over,
    office(): Office {
      const last = offices.at(-1)
      if (!last) throw new Error(`${id} has never led`)
      return last
    },
  }
}

const epochOf = (fleet: Fleet) => readEpoch(fleet.node(paths.epoch)?.data ?? '', paths.epoch)

test('the first in line leads, the next one is in office half a second after it has stopped', async () => {
  const fleet = fleetTree()
  const clock = manualClock()
  const a = controller(fleet, clock, 'a')
  await clock.until(() => a.leading() === 1)
  assert.equal(clock.nowMs(), 0)
  const b = controller(fleet, clock, 'b')
  await clock.advance(20_000)
  assert.deepEqual([a.leading(), b.leading(), epochOf(fleet).leader], [1, null, 'a'])
  assert.equal(b.candidacy.state().registered, true)
  const sinceMs = clock.nowMs()
  a.stop.abort()
  await clock.until(() => b.leading() === 2)
  assert.ok(clock.nowMs() - sinceMs <= 500)
  await clock.until(a.over)
  assert.equal(fleet.tree.children(paths.candidates).length, 1)
})

test('one that does not end its work is waited for 1 s, and no longer', async () => {
  const fleet = fleetTree()
  const clock = manualClock()
  const a = controller(fleet, clock, 'a', { lead: () => new Promise(() => {}) })
  const b = controller(fleet, clock, 'b')
  await clock.until(() => a.leading() === 1 && b.candidacy.state().registered)
  a.stop.abort()
  await clock.advance(999)
  assert.equal(b.leading(), null)
  await clock.advance(501)
  assert.equal(b.leading(), 2)
})

test('a killed one is followed after its lease and S/20: 7.5 s of silence, and its place is taken away', async () => {
  const fleet = fleetTree()
  const clock = manualClock()
  const a = controller(fleet, clock, 'a')
  await clock.until(() => a.leading() === 1)
  const b = controller(fleet, clock, 'b')
  await clock.advance(5_000)
  a.line.cut()
  await clock.advance(6_100)
  // Its own fence, before anybody follows: it has dropped its office and gives up what it had.
  assert.deepEqual(
    [a.leading(), a.office().signal.aborted, a.office().mayWrite(), b.leading()],
    [null, true, false, null],
  )
  await clock.until(() => b.leading() === 2)
  const silentSinceMs = 4_000
  const tookMs = clock.nowMs() - silentSinceMs
  assert.ok(tookMs >= 7_500 && tookMs <= 8_000, String(tookMs))
  a.line.mend()
  await clock.advance(1_000)
  assert.deepEqual([a.candidacy.state().registered, a.leading(), b.leading()], [true, null, 2])
  // And it is the next one.
  b.stop.abort()
  await clock.until(() => a.leading() === 3)
})

test('COORDINATION 5: a leader paused between plan and write is refused at index 0 when another is in office', async () => {
  const fleet = fleetTree()
  const clock = manualClock()
  const a = controller(fleet, clock, 'a')
  await clock.until(() => a.leading() === 1)
  const office = a.office()
  await fleet.write({ do: 'set', path: paths.epoch, data: '{"atMs":0,"epoch":2,"leader":"b","v":1}', version: null })
  const op = { do: 'create', path: '/flows/x', data: '{}', mode: 'persistent' } as const
  await assert.rejects(office.write([op]), { code: 'deposed' })
  assert.deepEqual([fleet.node('/flows/x'), office.signal.aborted, office.mayWrite()], [null, true, false])
  // Nothing is even sent any more.
  const { length } = a.line.ops
  await assert.rejects(office.write([op]), { code: 'deposed' })
  assert.equal(a.line.ops.length, length)
  await clock.until(() => a.leading() === 3)
})

test('a refused write of a leader names the index of its own operation', async () => {
  const fleet = fleetTree()
  const clock = manualClock()
  const a = controller(fleet, clock, 'a')
  await clock.until(() => a.leading() === 1)
  const set = { do: 'set', path: '/flows/x', data: '1', version: 7 } as const
  const create = { do: 'create', path: '/flows/x', data: '0', mode: 'persistent' } as const
  assert.deepEqual(await a.office().write([create]), { done: true, paths: ['/flows/x'], versions: [0] })
  assert.deepEqual(await a.office().write([{ ...set, version: 0 }, set]), {
    done: false,
    refused: { index: 1, why: 'changed' },
  })
  assert.equal(fleet.node('/flows/x')?.data, '0')
})

test('an epoch is above what is stored and what is held; without /epoch the store must be read', async () => {
  const fleet = fleetTree()
  const clock = manualClock()
  const line = fleet.line()
  const nowhere = line.open()
  await nowhere.write([
    { do: 'create', path: paths.helds, data: '', mode: 'persistent' },
    {
      ...{ do: 'create', path: paths.held('w'), mode: 'persistent' },
      data: writeHeld({ ...heldAt(12), units: new Map() }),
    },
    { do: 'create', path: paths.held('x'), data: 'broken', mode: 'persistent' },
  ])
  let reads = 0
  const away = new MillraceError('store-away', 'no store', { retryable: true })
  const store = {
    async epoch() {
      reads++
      if (reads < 4) throw away
      return 41
    },
  }
  const a = controller(fleet, clock, 'a', { store })
  await clock.advance(2_500)
  assert.deepEqual([a.leading(), a.candidacy.state().trouble?.code, reads], [null, 'store-away', 3])
  await clock.until(() => a.leading() === 42)
  assert.deepEqual([reads, a.candidacy.state().trouble], [4, null])
  a.stop.abort()
  await clock.until(a.over)
  // With /epoch there the store is not waited for.
  const b = controller(fleet, clock, 'b', { store: { epoch: () => Promise.reject(away) } })
  await clock.until(() => b.leading() === 43)
})

function heldAt(epoch: number) {
  return { atMs: 0, epoch, generation: 1, chunks: 0, errors: [], state: 'running' as const }
}

test('after a lost answer a candidate finds its place, and a new leader its epoch', async () => {
  const fleet = fleetTree()
  const clock = manualClock()
  const a = controller(fleet, clock, 'a')
  await clock.until(() => a.leading() === 1)
  const b = controller(fleet, clock, 'b')
  b.line.loseAnswer()
  await clock.advance(3_000)
  assert.equal(fleet.tree.children(paths.candidates).length, 2)
  assert.equal(b.candidacy.state().registered, true)
  b.line.loseAnswer()
  a.stop.abort()
  await clock.until(() => b.leading() === 2)
  assert.equal(epochOf(fleet).epoch, 2)
  assert.equal((await b.office().write([])).done, true)
})

test('what returns from leading while it may lead takes office anew', async () => {
  const fleet = fleetTree()
  const clock = manualClock()
  let times = 0
  const a = controller(fleet, clock, 'a', { lead: async office => (++times < 3 ? undefined : untilOver(office)) })
  await clock.until(() => a.leading() === 3)
  assert.equal(fleet.tree.children(paths.candidates).length, 1)
  // What fails is tried again later.
  let failed = 0
  const b = controller(fleet, clock, 'b', {
    async lead(office) {
      if (++failed < 3) throw new MillraceError('kafka-unreachable', 'no')
      await untilOver(office)
    },
  })
  a.stop.abort()
  await clock.until(() => failed === 1)
  const sinceMs = clock.nowMs()
  await clock.until(() => failed === 3)
  assert.equal(clock.nowMs() - sinceMs, 3_000)
  b.stop.abort()
})

test('an expired session ends the office, and the process is in line again at once', async () => {
  const fleet = fleetTree()
  const clock = manualClock()
  const a = controller(fleet, clock, 'a')
  await clock.until(() => a.leading() === 1)
  a.line.expire()
  assert.equal(a.office().signal.aborted, true)
  await clock.until(() => a.leading() === 2)
  assert.ok(clock.nowMs() <= 1_000)
})

test('a chroot that was deleted is not made anew for 60 s', async () => {
  const fleet = fleetTree()
  const clock = manualClock()
  const a = controller(fleet, clock, 'a')
  await clock.until(() => a.leading() === 1)
  for (const name of fleet.tree.children(paths.candidates))
    await fleet.write({ do: 'remove', path: `${paths.candidates}/${name}`, version: null })
  await fleet.write({ do: 'remove', path: paths.candidates, version: null })
  await fleet.write({ do: 'remove', path: paths.epoch, version: null })
  await clock.advance(30_000)
  assert.deepEqual([a.leading(), a.office().signal.aborted, fleet.node(paths.candidates)], [null, true, null])
  await clock.until(() => a.leading() !== null)
  assert.ok(clock.nowMs() > 60_000 && clock.nowMs() < 65_000, String(clock.nowMs()))
})

test('what a server grants outside the limits is config-invalid, with both numbers', async () => {
  const clock = manualClock()
  const line = fleetTree().line()
  const stop = new AbortController()
  const { done } = startCandidacy({
    identity: { id: 'a', url: null, software: '1' },
    open() {
      const coordinator = line.open()
      return { ...coordinator, state: () => ({ ...coordinator.state(), timeoutMs: 3_000 }) }
    },
    ...{ sessionMs: 10_000, clock, uptimeMs: clock.nowMs, chance: () => 0.5, store: null, stop: stop.signal },
    tell() {},
    lead: untilOver,
  })
  await assert.rejects(done, (error: MillraceError) => {
    assert.equal(error.code, 'config-invalid')
    assert.match(error.message, /10000 .* 3000;.*C-4/)
    return true
  })
})
