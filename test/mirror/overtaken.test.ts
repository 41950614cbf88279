import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { batchOf } from '../fakes/kafka/batches.ts'
import { mirrorOf } from './mirrorOf.ts'

const part = { topic: 't', partition: 0 }
const paused = { ...noOverlay, paused: new Map([['t', new Set([0])]]) }

for (const anew of [false, true]) {
  const who = anew ? 'by another process' : 'by the process that paused it'
  test(`retention that overtakes a paused partition is a gap when it is resumed ${who}: told and counted once`, async () => {
    const mirror = mirrorOf({ brokers: 1 })
    const { clock, east, west, events } = mirror
    for (const cluster of [east, west]) cluster.topic('t')
    const write = (count: number) => {
      for (let n = 0; n < count; n++) east.write(part, batchOf(['a']))
    }
    const stored = () => east.stored('millrace.flow').get('t/0')?.offset
    write(5)
    await mirror.start()
    await clock.until(() => stored() === 5n)
    mirror.change({ overlay: paused })
    await clock.until(() => [...mirror.units()].length === 0)
    write(15)
    east.trimTo(part, 15n)
    await clock.advance(120_000)
    assert.deepEqual([events, stored()], [[], 5n])
    if (anew) {
      await mirror.stop()
      mirror.begin()
      await clock.advance(10_000)
    }
    mirror.change({ overlay: noOverlay })
    await clock.until(() => stored() === 20n)
    const expected = { code: 'source-gap', from: 5n, to: 15n }
    assert.deepEqual(
      events.map(({ code, from, to }) => ({ code, from, to })),
      [expected],
    )
    assert.equal(mirror.report()?.gapRecords, 10)
    assert.equal(west.log(part).batches.length, 10)
    await mirror.stop()
    await mirror.start()
    await clock.advance(5_000)
    assert.equal(events.length, 1)
    await mirror.stop()
  })
}
