import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handovers } from '../../engine/fleet/handovers.ts'
import { controllerMeasures, workerMeasures } from '../../engine/fleet/measures.ts'
import { unknownOutcomes } from '../../engine/fleet/unknownOutcomes.ts'
import type { Measure } from '../../engine/ports/metrics.ts'
import { metricsText } from '../../engine/process/metrics.ts'
import { fakeCoordination } from '../fakes/coordinator.ts'
import { fleetOf } from './controllerOf.ts'

const none = { count: () => 0 }

/** `name labels value`, without the `millrace_fleet_` before it; of histograms how many and the sum. */
function shown(measures: readonly Measure[]): string[] {
  return measures.flatMap(measure => {
    const name = measure.name.replace('millrace_fleet_', '')
    const line = (labels: Record<string, string>, value: string) => [name, ...Object.values(labels), value].join(' ')
    return measure.kind === 'histogram'
      ? [...measure.read()].map(of => line(of.labels, `${of.count} in ${of.sum}`))
      : [...measure.read()].map(of => line(of.labels, `${of.value}`))
  })
}

async function begun() {
  const fleet = fleetOf()
  fleet.declare('f')
  const leader = fleet.controller('c1')
  leader.fake.shown.units = ['t/0', 't/1', 't/2', 't/3']
  const workers = { a: fleet.worker('a'), b: fleet.worker('b') }
  const held = () => leader.controller.known()?.flows().get('f')?.held
  await fleet.clock.until(() => held() === 4, 60_000)
  const measures = controllerMeasures(() => leader.controller, fleet.clock, none)
  const value = (of: string) => shown(measures).filter(line => line.startsWith(of))
  return { fleet, leader, workers, measures, value }
}

test('what the leader sees of units, moves and hand-overs is counted', async () => {
  const { fleet, leader, workers, value } = await begun()
  assert.deepEqual(value('units'), [
    ...[
      'units f wanted 4',
      'units f assigned 4',
      'units f held 4',
      'units f silent 0',
      'units f transit 0',
      'units f unplaced 0',
    ],
  ])
  assert.deepEqual(value('unit_unowned'), ['unit_unowned_seconds f 0'])
  assert.deepEqual(value('moves'), ['moves_total given 4'])
  assert.deepEqual(value('handover'), ['handover_seconds 0 in 0'])
  assert.match(value('time_to_owner')[0] ?? '', /^time_to_owner_seconds f 4 in /)
  workers.b.stop.abort()
  await fleet.clock.until(() => leader.controller.known()?.workers().get('a')?.held === 4, 30_000)
  const [count = 0, sum = 0] = (value('handover')[0] ?? '').match(/[\d.]+/g)?.map(Number) ?? []
  assert.equal(count, 2)
  assert.ok(sum > 0 && sum <= 1, `${sum} s`)
  assert.match(value('time_to_owner')[0] ?? '', /^time_to_owner_seconds f 4 in /)
  const plans = Number(value('plan')[0]?.split(' ')[1])
  assert.ok(plans > 4, 'each round is timed')
})

test('units without a worker grow older, and a controller that does not lead shows none', async () => {
  const { fleet, leader, workers, value } = await begun()
  for (const worker of Object.values(workers)) worker.stop.abort()
  await fleet.clock.until(() => workers.a.end.result !== null && workers.b.end.result !== null, 30_000)
  await fleet.clock.advance(60_000)
  const seconds = Number(value('unit_unowned')[0]?.split(' ')[2])
  assert.ok(seconds > 59 && seconds < 70, `${seconds} s`)
  assert.deepEqual(value('units f unplaced'), ['units f unplaced 4'])
  leader.stop.abort()
  await fleet.clock.until(() => leader.end.done, 10_000)
  assert.deepEqual([value('units'), value('unit_unowned'), value('deposed')], [[], [], ['deposed_total 0']])
  assert.deepEqual(value('moves_total given'), ['moves_total given 4'])
})

test('the lease shows the least that was left of it since the last scrape, and each fence counts', async () => {
  const { fleet, workers, leader, measures } = await begun()
  const ofWorker = workerMeasures(() => workers.a.worker, none)
  const low = (of: readonly Measure[]) =>
    Number(
      shown(of)
        .find(line => line.startsWith('lease_remaining_ms'))
        ?.split(' ')[1],
    )
  for (const list of [measures, ofWorker]) {
    low(list)
    await fleet.clock.advance(10_000)
    const ms = low(list)
    assert.ok(ms >= 4_900 && ms <= 5_500, `a beat each 2 s of a lease of 7 s: ${ms} ms`)
  }
  fleet.coordination.mute(workers.a.session(), 8_000)
  await fleet.clock.advance(30_000)
  assert.equal(low(ofWorker), 0)
  assert.ok(low(ofWorker) > 0)
  assert.ok(shown(ofWorker).includes('fences_total 1'))
  assert.ok(shown(ofWorker).includes('held_units 2'))
  assert.equal(leader.controller.state().counts.deposed, 0)
})

test('only a write that was sent and not answered is an unknown outcome, over all sessions of a process', async () => {
  const fleet = fleetOf()
  const coordination = fakeCoordination({ clock: fleet.clock })
  const outcomes = unknownOutcomes(coordination.open)
  const create = { do: 'create', path: '/x', data: '', mode: 'persistent' } as const
  for (const expected of [1, 2]) {
    const session = outcomes.open()
    await fleet.clock.until(() => session.state().phase === 'connected', 10_000)
    coordination.loseNextAnswer(asked => asked.do === 'write')
    const written = session.write([create]).catch(error => error.code)
    await fleet.clock.advance(10_000)
    assert.equal(await written, 'outcome-unknown')
    assert.deepEqual((await Promise.race([session.write([create]), fleet.clock.advance(10)])) ?? 'late', {
      done: false,
      refused: { index: 0, why: 'exists' },
    })
    assert.equal(outcomes.count(), expected)
  }
})

test('a unit that is paused on its way was handed over to nobody', () => {
  const found = handovers()
  const memory = { unheld: new Map([['f/t/0', 0]]), placed: new Set(['f/t/0']), workers: new Map() } as never
  found.moved({ code: 'units-moved', reason: 'balance', units: ['f/t/0'] }, 0)
  found.round({ memory, owners: new Map() }, 50)
  const paused = { unheld: new Map(), placed: new Set(['f/t/0']), workers: new Map() } as never
  found.round({ memory: paused, owners: new Map() }, 100)
  const held = { held: { units: new Set(['f/t/0']) } }
  const resumed = { unheld: new Map(), placed: new Set(['f/t/0']), workers: new Map([['a', held]]) } as never
  found.round({ memory: resumed, owners: new Map([['f/t/0', 'a']]) }, 60_000)
  assert.equal(found.taken.read({}).count, 0)
})

test('all of it is Prometheus text, and each name is there once on each process', async () => {
  const { measures, workers } = await begun()
  for (const list of [measures, workerMeasures(() => workers.a.worker, none)]) {
    const { text } = await metricsText(list)()
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
    assert.equal(new Set(names).size, names.length)
    for (const name of names) assert.match(name ?? '', /^millrace_fleet_/)
  }
})
