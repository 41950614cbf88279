import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codec, crc32c } from '../../engine/adapters/kafka/native.ts'
import type { MillraceError } from '../../engine/errors.ts'
import { startChores } from '../../engine/fleet/chores.ts'
import type { View } from '../../engine/flow/contract.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { noOverlay } from '../../engine/flow/overlay.ts'
import { manualClock } from '../fakes/clock.ts'
import { fakeKind, lasting, type Shown, transient } from './fakeKind.ts'

function started(prepare: (fake: ReturnType<typeof fakeKind>) => void = () => {}) {
  const clock = manualClock()
  const fake = fakeKind()
  prepare(fake)
  const stop = new AbortController()
  const events: FlowEvent[] = []
  const seen: View<Shown>[] = []
  const owned = new Set<string>()
  const onSeen = { also: (_view: View<Shown>) => {} }
  const chores = startChores({
    kind: fake.kind,
    spec: () => null,
    overlay: () => noOverlay,
    owned: () => new Set(owned),
    ctx: {
      ...{ flow: 'flow', epoch: 7, clock, codec, crc: crc32c, signal: stop.signal, untilEnd: false },
      kafka: () => assert.fail('there is no Kafka here'),
      chance: () => 0.5,
      mayWrite: () => true,
      tell: event => void events.push(event),
    },
    seen(view) {
      seen.push(view as View<Shown>)
      onSeen.also(view as View<Shown>)
    },
  })
  const view = () => chores.view() as View<Shown> | null
  return { clock, fake, stop, events, seen, owned, onSeen, chores, view }
}

test('it looks each lookMs, steers each second between, and shows each view', async () => {
  const { clock, fake, seen, view, owned } = started()
  assert.equal(view(), null)
  await clock.settle()
  assert.deepEqual([fake.looks, seen.length], [1, 1])
  fake.shown.units.push('t/0')
  owned.add('t/9')
  await clock.advance(9_999)
  assert.deepEqual([fake.looks, seen.length], [1, 10])
  await clock.advance(1)
  assert.equal(fake.looks, 2)
  const now = view()
  assert.deepEqual([now?.units, now?.flow, now?.epoch, now?.nowMs], [['t/0'], 'flow', 7, 10_000])
  assert.deepEqual([now?.owned, now?.aside, now?.wallMs], [new Set(['t/9']), new Map(), clock.wallMs()])
})

test('one action runs at a time, the first, and after it everything is looked at again', async () => {
  const done: string[] = []
  const open = Promise.withResolvers<void>()
  const { clock, fake } = started(fake => {
    const todo = ['a', 'b']
    fake.steer = () => todo.map(action => ({ do: action }))
    fake.perform = async action => {
      done.push(`${action.do} after look ${fake.looks}`)
      await open.promise
      todo.splice(todo.indexOf(action.do), 1)
      return []
    }
  })
  await clock.advance(60_000)
  assert.deepEqual([done, fake.looks], [['a after look 1'], 1])
  open.resolve()
  await clock.settle()
  assert.deepEqual([done, fake.looks], [['a after look 1', 'b after look 2'], 3])
})

test('units that the view has started are owned when it is steered by it', async () => {
  const { clock, fake, onSeen, owned } = started(fake => {
    fake.shown.units.push('t/0')
  })
  const steered: string[][] = []
  fake.steer = view => {
    steered.push([...view.owned])
    return []
  }
  onSeen.also = view => {
    for (const unit of view.units) owned.add(unit)
  }
  await clock.settle()
  assert.deepEqual(steered, [['t/0']])
})

test('an action that names units begins when all of them are free, and is passed over until then', async () => {
  const done: string[] = []
  const { clock, owned, chores } = started(fake => {
    const todo = [{ do: 'starts', units: ['t/0', 't/1'] }, { do: 'other' }]
    fake.steer = () => [...todo]
    fake.perform = async action => {
      done.push(action.do)
      todo.splice(
        todo.findIndex(one => one.do === action.do),
        1,
      )
      return []
    }
  })
  owned.add('t/1')
  await clock.advance(5_000)
  assert.deepEqual(done, ['other'])
  owned.delete('t/1')
  chores.steer()
  await clock.settle()
  assert.deepEqual(done, ['other', 'starts'])
})

test('while an action runs the units that it names are busy, whether it passes or fails', async () => {
  let open = Promise.withResolvers<never[]>()
  const { clock, fake, chores } = started(fake => {
    fake.steer = () => [{ do: 'starts', units: ['t/0', 't/1'] }]
    fake.perform = () => open.promise
  })
  const busy = () => [...chores.busy()]
  assert.deepEqual(busy(), [])
  await clock.settle()
  assert.deepEqual(busy(), ['t/0', 't/1'])
  open.reject(transient())
  await clock.settle()
  assert.deepEqual(busy(), [])
  open = Promise.withResolvers()
  await clock.until(() => busy().length === 2)
  fake.steer = () => []
  open.resolve([])
  await clock.settle()
  assert.deepEqual(busy(), [])
})

test('an action that is cut short by the end leaves its units busy: it may still be under way', async () => {
  const { clock, stop, chores } = started(fake => {
    fake.steer = () => [{ do: 'starts', units: ['t/0'] }]
    fake.perform = () => new Promise(() => {})
  })
  await clock.settle()
  stop.abort()
  await chores.done
  assert.deepEqual([...chores.busy()], ['t/0'])
})

test('an action that fails is set aside and the next goes on; it is tried again when it is due, each time later', async () => {
  const tries: [string, number][] = []
  const { clock, fake, events } = started(fake => {
    const todo = ['bad', 'good']
    fake.steer = () => todo.map(action => ({ do: action }))
    fake.perform = async action => {
      tries.push([action.do, clock.nowMs()])
      if (action.do === 'bad') throw transient()
      todo.splice(todo.indexOf('good'), 1)
      return []
    }
  })
  await clock.settle()
  assert.deepEqual(tries, [
    ['bad', 0],
    ['good', 0],
  ])
  assert.equal(fake.looks, 3)
  await clock.advance(7_500)
  assert.deepEqual(tries.slice(2), [
    ['bad', 1_000],
    ['bad', 3_000],
    ['bad', 7_000],
  ])
  // Once for each thing that it says.
  assert.deepEqual(
    events.map(event => [event.code, event.message]),
    [['kafka-unreachable', 'no answer']],
  )
})

test('what trying again soon does not mend is tried on the slow curve', async () => {
  const atMs: number[] = []
  const { clock } = started(fake => {
    fake.steer = () => [{ do: 'bad' }]
    fake.perform = async () => {
      atMs.push(clock.nowMs())
      throw lasting()
    }
  })
  await clock.advance(200_000)
  assert.deepEqual(atMs, [0, 60_000, 180_000])
})

test('pieces that could not be done are set aside until they are due, and are known by name to the kind', async () => {
  const asked: [number, string[]][] = []
  let broken = new Map<string, MillraceError>([['b', transient()]])
  const { clock, events, view } = started(fake => {
    const todo = new Set(['a', 'b', 'c'])
    fake.steer = view => {
      const items = [...todo].filter(item => !view.aside.has(`make ${item}`))
      return items.length === 0 ? [] : [{ do: 'make', items }]
    }
    fake.perform = async action => {
      asked.push([clock.nowMs(), action.items ?? []])
      for (const item of action.items ?? []) if (!broken.has(item)) todo.delete(item)
      return [...broken].map(([item, error]) => ({ item, error }))
    }
  })
  await clock.settle()
  assert.deepEqual(asked, [[0, ['a', 'b', 'c']]])
  assert.equal(view()?.aside.get('make b')?.code, 'kafka-unreachable')
  await clock.advance(999)
  assert.equal(asked.length, 1)
  await clock.advance(2_001)
  assert.deepEqual(asked.slice(1), [
    [1_000, ['b']],
    [3_000, ['b']],
  ])
  assert.equal(events.length, 1)
  broken = new Map()
  await clock.advance(10_000)
  assert.deepEqual(asked.slice(3), [[7_000, ['b']]])
  assert.deepEqual(view()?.aside, new Map())
})

test('a piece that failed, was done, and fails much later is said again and is tried soon', async () => {
  const todo = new Set(['b'])
  let isBroken = true
  const asked: number[] = []
  const { clock, events } = started(fake => {
    fake.steer = view => (todo.has('b') && !view.aside.has('make b') ? [{ do: 'make', items: ['b'] }] : [])
    fake.perform = async () => {
      asked.push(clock.nowMs())
      if (isBroken) return [{ item: 'b', error: transient() }]
      todo.delete('b')
      return []
    }
  })
  await clock.advance(3_500)
  isBroken = false
  await clock.advance(6_500)
  assert.deepEqual(asked.splice(0), [0, 1_000, 3_000, 7_000])
  isBroken = true
  todo.add('b')
  await clock.advance(2_000)
  assert.deepEqual(asked, [11_000, 12_000])
  assert.equal(events.length, 2)
})

test('a look that fails leaves the last view, and is tried again sooner than the next would be', async () => {
  const { clock, fake, seen, view } = started(fake => {
    fake.shown.units.push('t/0')
  })
  await clock.settle()
  fake.look = async () => {
    throw transient()
  }
  await clock.advance(15_000)
  assert.ok(fake.looks > 3, `${fake.looks} looks`)
  assert.deepEqual(view()?.units, ['t/0'])
  // Units go on being started and stopped by what people have changed.
  assert.ok((seen.at(-1)?.nowMs ?? 0) > 10_000)
  fake.look = async () => ({ units: ['t/1'], pending: 0 })
  await clock.advance(11_000)
  assert.deepEqual(view()?.units, ['t/1'])
})

test('a look that fails is said once a minute: at once while nothing was seen, else after a minute', async () => {
  const failing = async () => {
    throw transient()
  }
  const first = started(fake => {
    fake.look = failing
  })
  await first.clock.advance(59_000)
  assert.deepEqual(
    first.events.map(({ code, state }) => [code, state]),
    [['kafka-unreachable', 'unavailable']],
  )
  await first.clock.advance(15_000)
  assert.equal(first.events.length, 2)
  assert.equal(first.view(), null)

  const later = started()
  await later.clock.settle()
  later.fake.look = failing
  await later.clock.advance(60_000)
  assert.equal(later.events.length, 0)
  await later.clock.advance(25_000)
  assert.equal(later.events.length, 1)
  // It was seen meanwhile, so the minute begins anew.
  later.fake.look = async () => ({ units: [], pending: 0 })
  await later.clock.advance(20_000)
  later.fake.look = failing
  await later.clock.advance(55_000)
  assert.equal(later.events.length, 1)
})

test('again looks at once, and tries at once what is set aside', async () => {
  const tries: number[] = []
  const { clock, fake, chores } = started(fake => {
    fake.steer = () => [{ do: 'bad' }]
    fake.perform = async () => {
      tries.push(clock.nowMs())
      throw lasting()
    }
  })
  await clock.advance(2_500)
  const { looks } = fake
  assert.deepEqual(tries, [0])
  chores.again()
  await clock.settle()
  // Looked at for `again`, and once more after the action.
  assert.deepEqual([tries, fake.looks], [[0, 2_500], looks + 2])
})

test('again that is said while a look is under way looks once more', async () => {
  const open = Promise.withResolvers<void>()
  const { clock, fake, chores } = started(fake => {
    fake.look = async () => {
      await open.promise
      return { units: [], pending: 0 }
    }
  })
  await clock.settle()
  chores.again()
  open.resolve()
  await clock.settle()
  assert.equal(fake.looks, 2)
})

test('steer is asked again at once when a unit has ended', async () => {
  const { clock, fake, seen, chores } = started()
  await clock.settle()
  const before = seen.length
  chores.steer()
  await clock.settle()
  assert.deepEqual([seen.length, fake.looks, clock.nowMs()], [before + 1, 1, 0])
})

test('it ends with its signal, whatever is under way', async () => {
  for (const what of ['look', 'action', 'nothing'] as const) {
    const { clock, stop, chores } = started(fake => {
      if (what === 'look') fake.look = () => new Promise(() => {})
      if (what === 'action') fake.steer = () => [{ do: 'long' }]
      fake.perform = () => new Promise(() => {})
    })
    await clock.settle()
    stop.abort()
    await chores.done
  }
})

test('an error of our own ends it', async () => {
  const bug = new TypeError('a bug')
  const { chores } = started(fake => {
    fake.look = async () => {
      throw bug
    }
  })
  await assert.rejects(chores.done, bug)
})

test('what stands is told once for as long as it stands, and again when it has come back', async () => {
  const { clock, fake, events } = started()
  const said = () => events.splice(0).map(event => event.message)
  fake.stands = [{ code: 'mirror-loop', message: 'a loop' }]
  await clock.advance(30_000)
  assert.deepEqual(said(), ['a loop'])
  fake.stands = [...fake.stands, { code: 'mirror-loop', message: 'another loop' }]
  await clock.advance(10_000)
  assert.deepEqual(said(), ['another loop'])
  const again = fake.stands
  fake.stands = []
  await clock.advance(10_000)
  fake.stands = again
  await clock.advance(10_000)
  assert.deepEqual(said(), ['a loop', 'another loop'])
})

test('an action that has no effect is done later and later, others are not kept waiting, and `again` does it at once', async () => {
  const asked: [number, string][] = []
  const todo = new Set(['b'])
  const { clock, chores } = started(fake => {
    fake.steer = () => [{ do: 'make' }, ...[...todo].map(item => ({ do: 'grow', items: [item] }))]
    fake.perform = async action => {
      asked.push([clock.nowMs(), action.do])
      if (action.do === 'grow') todo.clear()
      return []
    }
  })
  await clock.advance(8_000)
  assert.deepEqual(asked.splice(0), [
    [0, 'make'],
    [0, 'grow'],
    [1_000, 'make'],
    [3_000, 'make'],
    [7_000, 'make'],
  ])
  chores.again()
  await clock.settle()
  assert.deepEqual(asked, [[8_000, 'make']])
})

for (const what of ['steer', 'units', 'stands'] as const) {
  test(`${what} that throws ends nothing: it is told, tried again on the curve, and what runs notices nothing`, async () => {
    const triedMs: number[] = []
    let isBroken = false
    const { clock, seen, events, chores } = started(fake => {
      fake.shown.units.push('t/0')
      const whole = { steer: fake.steer, units: fake.units }
      const tried = <T>(says: T): T => {
        if (!isBroken) return says
        triedMs.push(clock.nowMs())
        throw new TypeError('a bug\nand where')
      }
      fake.steer = view => (what === 'steer' ? tried(whole.steer(view)) : whole.steer(view))
      fake.units = view => (what === 'units' ? tried(whole.units(view)) : whole.units(view))
      if (what === 'stands') fake.kind.stands = () => tried([])
    })
    await clock.settle()
    const before = seen.length
    isBroken = true
    await clock.advance(60_000)
    // Two to the power of the tries, 60 s at most; the loop comes by each second.
    assert.deepEqual(triedMs, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000])
    assert.deepEqual(
      events.map(({ code, message, state }) => [code, message, state]),
      [['steer-failed', `flow: ${what} failed: a bug`, 'error']],
    )
    // Units are started and stopped as before, unless it is they that cannot be told.
    assert.equal(seen.length > before, what !== 'units')
    isBroken = false
    chores.again()
    await clock.advance(10_000)
    assert.equal(triedMs.length, 6)
    assert.ok((seen.at(-1)?.nowMs ?? 0) >= 60_000)
    isBroken = true
    await clock.advance(1_000)
    assert.deepEqual([triedMs.length, events.length], [7, 2])
  })
}
