import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import { startSolo } from '../../engine/fleet/solo.ts'
import { noOverlay, type Overlay } from '../../engine/flow/overlay.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeKind } from './fakeKind.ts'

function started(prepare: (fake: ReturnType<typeof fakeKind>) => void = () => {}) {
  const clock = manualClock()
  const stop = new AbortController()
  const fake = fakeKind()
  fake.shown.units.push('t/0', 't/1')
  prepare(fake)
  const plans = (overlay: Overlay, spec: unknown = 1) => new Map([['f', { kind: fake.kind, spec, overlay }]])
  const solo = startSolo(plans(noOverlay), {
    ...{ clock, codec, crc: crc32c, stop: stop.signal, abort: stop.signal, untilEnd: false },
    kafka: () => assert.fail('there is no Kafka here'),
    chance: () => 0.5,
    tell() {},
    broke() {},
  })
  const end = async () => {
    stop.abort()
    await clock.settle()
    await solo.done
  }
  return { clock, fake, plans, solo, end }
}
const paused = { ...noOverlay, paused: new Map([['t', new Set([1])]]) }

test('what is paused stops at once, also while a look takes long, and begins again with the next look', async () => {
  const { clock, fake, plans, solo, end } = started()
  await clock.settle()
  assert.deepEqual(fake.said(), ['open', '+t/0', '+t/1'])

  const away = Promise.withResolvers<{ units: string[]; pending: number }>()
  fake.look = () => away.promise
  solo.apply(plans(paused))
  await clock.settle()
  assert.deepEqual(fake.said(), ['-t/1', 'left t/1'])
  solo.apply(plans(noOverlay))
  await clock.settle()
  assert.deepEqual(fake.said(), [])
  away.resolve({ units: ['t/0', 't/1'], pending: 0 })
  await clock.settle()
  assert.deepEqual(fake.said(), ['+t/1'])
  await end()
})

test('what is paused stops at once while an action takes long, and none is given before it has ended', async () => {
  const long = Promise.withResolvers<[]>()
  const { clock, fake, plans, solo, end } = started(fake => {
    let isDone = false
    fake.steer = () => (isDone ? [] : [{ do: 'long' }])
    fake.perform = async () => {
      await long.promise
      isDone = true
      return []
    }
  })
  await clock.settle()
  assert.deepEqual(fake.said(), ['open', '+t/0', '+t/1'])
  solo.apply(plans(paused))
  await clock.settle()
  assert.deepEqual(fake.said(), ['-t/1', 'left t/1'])
  solo.apply(plans(noOverlay))
  await clock.advance(30_000)
  assert.deepEqual(fake.said(), [])
  long.resolve([])
  await clock.settle()
  assert.deepEqual(fake.said(), ['+t/1'])
  await end()
})

test('what has left by a changed spec stops at once while a look takes long, and what runs goes on where that cannot be told', async () => {
  const { clock, fake, plans, solo, end } = started()
  await clock.settle()
  fake.said()
  fake.look = () => new Promise(() => {})
  fake.units = () => {
    throw new TypeError('a bug')
  }
  solo.apply(plans(noOverlay, 2))
  await clock.settle()
  assert.deepEqual(fake.said(), [])
  fake.units = () => ['t/0', 't/2']
  solo.apply(plans(noOverlay, 3))
  await clock.settle()
  assert.deepEqual(fake.said(), ['-t/1', 'left t/1'])
  await end()
})
