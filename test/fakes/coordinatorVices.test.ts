import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Coordinator, Phase } from '../../engine/ports/coordinator.ts'
import { manualClock } from './clock.ts'
import { type FakeOptions, fakeCoordination } from './coordinator.ts'

const timeoutMs = 10_000

async function opened(options: Partial<FakeOptions> = {}) {
  const clock = manualClock()
  const fake = fakeCoordination({ clock, timeoutMs, ...options })
  const phases: Phase[] = []
  const [one, other] = [fake.open(), fake.open()]
  one.changed(phase => phases.push(phase), new AbortController().signal)
  await clock.advance(50)
  return { clock, fake, one, other, phases }
}

const make = (one: Coordinator, path: string, mode: 'persistent' | 'ephemeral' = 'persistent') =>
  one.write([{ do: 'create', path, data: '', mode }])
const put = (one: Coordinator, path: string, data: string) => one.write([{ do: 'set', path, data, version: null }])

describe('the vices of the fake coordinator', () => {
  it('everything is answered without time passing when nothing takes time', async () => {
    const { clock, one } = await opened()
    const before = clock.nowMs()
    await make(one, '/a')
    assert.equal((await one.read('/a'))?.version, 0)
    assert.equal(clock.nowMs(), before)
  })

  it('a lost request was not done, a lost answer was, and nobody is told which', async () => {
    const { clock, fake, one, phases } = await opened()
    await make(one, '/a')
    fake.loseNextRequest(({ paths }) => paths.includes('/a'))
    await assert.rejects(put(one, '/a', 'lost'), { code: 'outcome-unknown' })
    await clock.advance(0)
    assert.equal((await one.read('/a'))?.data, '')
    fake.loseNextAnswer(asked => asked.do === 'beat')
    await put(one, '/a', '1')
    await assert.rejects(one.beat('/a', '2', 1), { code: 'outcome-unknown' })
    await clock.advance(0)
    assert.equal((await one.read('/a'))?.data, '2')
    assert.deepEqual(phases, ['connected', 'suspended', 'connected', 'suspended', 'connected'])
  })

  it('a beat into silence is given up after a fifth of the session, anything else after five seconds', async () => {
    const { clock, fake, one, other } = await opened()
    await make(one, '/a', 'ephemeral')
    fake.mute(one, 6_000)
    let said: unknown = null
    one.beat('/a', '', 0).catch(error => {
      said = error.code
    })
    await clock.advance(1_999)
    assert.deepEqual([said, one.state().phase], [null, 'connected'])
    await clock.advance(1)
    assert.deepEqual([said, one.state().phase], ['outcome-unknown', 'suspended'])
    await clock.advance(3_999)
    assert.equal(one.state().phase, 'suspended')
    await clock.advance(1)
    assert.equal(one.state().phase, 'connected')
    assert.equal((await other.read('/a'))?.version, 0)
    fake.mute(other, 20_000)
    const read = assert.rejects(other.read('/a'), { code: 'coordination-unreachable' })
    await clock.advance(5_000)
    await read
  })

  it('a session without a connection expires after its time-out, counted from its loss, and learns of it later', async () => {
    const { clock, fake, one, other } = await opened()
    await make(one, '/mine', 'ephemeral')
    fake.suspend(one, 9_999)
    await clock.advance(9_999)
    assert.equal(one.state().phase, 'connected')
    fake.suspend(one, 12_000)
    await clock.advance(9_999)
    assert.notEqual(await other.read('/mine'), null)
    await clock.advance(1)
    assert.equal(await other.read('/mine'), null)
    assert.equal(one.state().phase, 'suspended')
    await clock.advance(2_000)
    assert.equal(one.state().phase, 'lost')
  })

  it('a session that is expired by the server loses what it has at once, with all its open operations', async () => {
    const { fake, clock, one, other } = await opened({ delayMsMax: 3 })
    const made = make(one, '/mine', 'ephemeral')
    await clock.advance(20)
    await made
    fake.expire(one)
    const writes = Array.from({ length: 100 }, (_, n) => make(one, `/n-${n}`))
    const settled = Promise.allSettled(writes)
    await clock.advance(20)
    const codes = new Set((await settled).map(one => (one.status === 'rejected' ? one.reason.code : 'done')))
    assert.deepEqual([...codes], ['outcome-unknown'])
    assert.equal(one.state().phase, 'lost')
    const left = other.children('/')
    await clock.advance(20)
    assert.deepEqual(await left, [])
  })

  it('with no server nobody expires, and new sessions wait', async () => {
    const { clock, fake, one, phases } = await opened()
    await make(one, '/mine', 'ephemeral')
    fake.outage(60_000)
    const late = fake.open()
    await clock.advance(59_999)
    assert.deepEqual([one.state().phase, late.state().phase], ['suspended', 'connecting'])
    await assert.rejects(one.read('/mine'), { code: 'coordination-unreachable' })
    await clock.advance(1)
    assert.deepEqual([one.state().phase, late.state().phase], ['connected', 'connected'])
    assert.notEqual(await late.read('/mine'), null)
    assert.deepEqual(phases, ['connected', 'suspended', 'connected'])
  })

  it('stale reads show what was so, with the hints to come, until the session writes or the time is over', async () => {
    const { clock, fake, one, other } = await opened()
    await make(other, '/a')
    let hints = 0
    one.watch('/a', 'data', () => hints++, new AbortController().signal)
    fake.staleReads(one, 1_000)
    await put(other, '/a', '1')
    assert.deepEqual([(await one.read('/a'))?.data, hints], ['', 0])
    await clock.advance(1_000)
    assert.deepEqual([(await one.read('/a'))?.data, hints], ['1', 1])
    fake.staleReads(one, 1_000)
    await put(other, '/a', '2')
    assert.equal((await one.read('/a'))?.data, '1')
    await make(one, '/b')
    await clock.settle()
    assert.deepEqual([(await one.read('/a'))?.data, hints], ['2', 2])
  })

  it('dropped hints and told faults are as many as were ordered', async () => {
    const { clock, fake, one, other } = await opened()
    await make(one, '/a')
    let hints = 0
    one.watch('/a', 'data', () => hints++, new AbortController().signal)
    fake.dropHints(2)
    for (let n = 0; n < 3; n++) await put(other, '/a', String(n))
    await clock.settle()
    assert.equal(hints, 1)
    fake.failNext('coordination-denied', asked => asked.session === one && asked.do === 'write')
    await put(other, '/a', 'fine')
    await assert.rejects(put(one, '/a', 'refused'), { code: 'coordination-denied' })
    await put(one, '/a', 'fine again')
  })

  it('the same seed gives the same delays and the same order of hints', async () => {
    const trace = async (seed: number) => {
      const { clock, one, other } = await opened({ seed, delayMsMax: 20 })
      const seen: string[] = []
      for (let n = 0; n < 5; n++) {
        one.watch(`/${n}`, 'data', () => seen.push(`${n} at ${clock.nowMs()}`), new AbortController().signal)
      }
      const made = other.write(
        [0, 1, 2, 3, 4].map(n => ({ do: 'create', path: `/${n}`, data: '', mode: 'persistent' })),
      )
      await clock.advance(200)
      await made
      assert.equal(seen.length, 5)
      return seen
    }
    assert.deepEqual(await trace(7), await trace(7))
    assert.notDeepEqual(await trace(7), await trace(8))
  })
})
