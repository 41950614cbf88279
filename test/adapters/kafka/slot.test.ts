import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Link, type Wire } from '../../../engine/adapters/kafka/link.ts'
import { LinkSlot } from '../../../engine/adapters/kafka/slot.ts'
import { MillraceError } from '../../../engine/errors.ts'
import { reauthSpreadMs } from '../../../engine/limits.ts'
import { manualClock } from '../../fakes/clock.ts'

const sessionMs = 10_000
const nothing = () => {}
const wire: Wire = { cork: nothing, uncork: nothing, write: () => true, resume: nothing, destroy: nothing }

/** A slot whose links have sessions of ten seconds. `use` keeps a link in use as its owner would, when told. */
function slotOf(
  how: {
    quietSwap?: boolean
    needed?: boolean
    fails?: MillraceError[]
    /** Null: without an end. */
    session?: null
    opened?: (link: Link, nth: number) => unknown
  } = {},
) {
  const clock = manualClock()
  const links: Link[] = []
  const triesMs: number[] = []
  const fails = how.fails ?? []
  const slot = new LinkSlot({
    connect: async () => {
      triesMs.push(clock.nowMs())
      const error = fails.shift()
      if (error) throw error
      const sessionEndsAtMs = how.session === null ? null : clock.nowMs() + sessionMs
      const link = new Link(wire, { name: 'broker', clientId: 'm', clock, account: null, sessionEndsAtMs })
      links.push(link)
      how.opened?.(link, links.length)
      return link
    },
    clock,
    chance: () => 0.5,
    quietSwap: how.quietSwap ?? false,
    onReady: () => {
      if (how.needed ?? true) slot.use()
    },
    onFault: nothing,
  })
  slot.use()
  return { clock, links, slot, triesMs }
}

const lost = () => new MillraceError('kafka-link-lost', 'lost', { retryable: true })

for (const quietSwap of [false, true]) {
  test(`a link that nobody uses${quietSwap ? ' for sending' : ''} is swapped before its session ends, again and again`, async () => {
    const { clock, links, slot } = slotOf({ quietSwap })
    await clock.advance(10 * sessionMs)
    assert.ok(slot.swaps >= 10, `${slot.swaps} swaps`)
    const link = slot.use()
    assert.ok(link?.alive && (link.sessionEndsAtMs ?? 0) > clock.nowMs())
    assert.deepEqual(
      links.filter(one => one.alive),
      [link],
    )
    slot.close()
  })
}

test('a swap that fails is tried again while the present link works, and nobody is told', async () => {
  const fails: MillraceError[] = []
  const { clock, links, slot } = slotOf({ fails })
  await clock.settle()
  fails.push(lost(), lost(), lost())
  await clock.until(() => fails.length === 0)
  assert.equal(slot.use(), links[0])
  assert.equal(slot.fault, null)
  await clock.until(() => links.length === 2)
  assert.ok((links[0]?.sessionEndsAtMs ?? 0) > clock.nowMs())
  assert.equal(slot.use(), links[1])
  slot.close()
})

test('a login that is refused is not tried ten times a second', async () => {
  const refused = () => new MillraceError('kafka-login-refused', 'no')
  const { clock, slot, triesMs } = slotOf({ fails: Array.from({ length: 50 }, refused) })
  await clock.advance(30_000)
  assert.ok(triesMs.length <= 6, `${triesMs}`)
  assert.equal(slot.fault?.error.code, 'kafka-login-refused')
  slot.close()
})

test('a link that nobody needs any more is not opened again', async () => {
  const { clock, links, slot, triesMs } = slotOf({ needed: false })
  await clock.settle()
  links[0]?.failed('the broker went away')
  await clock.advance(60_000)
  assert.equal(triesMs.length, 1)
  slot.use()
  await clock.settle()
  assert.equal(triesMs.length, 2)
  assert.ok(slot.use()?.alive)
  slot.close()
})

test('a link that is lost while its swap is under way is replaced by the one that comes', async () => {
  const { clock, links, slot } = slotOf()
  await clock.until(() => links.length === 2)
  links[0]?.failed('lost')
  await clock.settle()
  assert.equal(slot.use(), links[1])
  await clock.advance(1_000)
  assert.equal(links.length, 2)
  slot.close()
})

for (const quietSwap of [false, true]) {
  test(`K-55: a link with outdated credentials is swapped once${quietSwap ? ', for sending too' : ''}, and works until then`, async () => {
    const { clock, links, slot } = slotOf({ quietSwap, session: null })
    await clock.advance(60_000)
    assert.equal(slot.swaps, 0)
    links[0]?.outdated()
    assert.equal(slot.use(), links[0])
    await clock.advance(reauthSpreadMs)
    assert.deepEqual([slot.swaps, links.length, slot.use()], [1, 2, links[1]])
    await clock.advance(60_000)
    assert.equal(slot.swaps, 1)
    slot.close()
  })
}

test('credentials that change while a link is being opened make it one to be swapped', async () => {
  const { clock, links, slot } = slotOf({ session: null, opened: (link, nth) => nth === 1 && link.outdated() })
  await clock.advance(reauthSpreadMs)
  assert.deepEqual([slot.swaps, links.length], [1, 2])
  slot.close()
})

test('credentials that change do not make a swap later than the session has it', async () => {
  const { clock, links, slot } = slotOf()
  await clock.advance(0.7 * sessionMs)
  links[0]?.outdated()
  await clock.advance(0.1 * sessionMs)
  assert.equal(slot.swaps, 1)
  slot.close()
})
