import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { watchEveryMs } from '../../engine/limits.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import { askedFleet } from './askedFleet.ts'

/** What waits between two looks waits for nothing; all else for as long as it is. */
function hurried(): Clock {
  const clock = machineClock()
  return { ...clock, after: (ms, then) => clock.after(ms === watchEveryMs ? 1 : ms, then) }
}

/** Acts at each look that shows something new; the last one is Ctrl-C. */
function steps(...acts: (() => unknown)[]) {
  let shown = ''
  const stop = new AbortController()
  return {
    clock: hurried(),
    stop: stop.signal,
    wrote(out: string) {
      if (out === shown) return
      shown = out
      const act = acts.shift()
      if (act) void act()
      if (acts.length === 0 && !act) stop.abort()
    },
  }
}

test('--watch appends what has changed when it is piped, and Ctrl-C ends it with 0', async t => {
  const fleet = await askedFleet(t)
  const { code, out, err } = await fleet.run(
    'flows -w',
    steps(() => fleet.putFlow('newer')),
  )
  assert.deepEqual([code, err], [0, ''])
  const drawn = out.split('\n\n')
  assert.equal(drawn.length, 2, out)
  assert.match(drawn[1] ?? '', /^FLOW.*\nclicks.*\nnewer/)
  assert.doesNotMatch(drawn[0] ?? '', /newer/)
})

test('--watch draws over what was there at a terminal, no more lines than it has', async t => {
  const fleet = await askedFleet(t)
  const how = { ...steps(() => fleet.putFlow('newer')), terminal: { rows: 3 } }
  const { code, out } = await fleet.run('flows --watch', how)
  assert.equal(code, 0)
  const drawn = out.split('\u001b[H\u001b[J').slice(1)
  assert.ok(drawn.length >= 2)
  assert.match(drawn.at(-1) ?? '', /^FLOW.*\nclicks.*\n… 2 more lines$/)
  assert.ok(drawn.every(one => one.split('\n').length <= 3))
})

test('--watch as JSON gives one document a line', async t => {
  const fleet = await askedFleet(t)
  const { out } = await fleet.run(
    'flows --watch -o json',
    steps(() => {}),
  )
  const lines = out.trimEnd().split('\n')
  assert.ok(lines.length >= 2)
  for (const line of lines) assert.equal(JSON.parse(line).flows.length, 2)
})

test('--watch outlives an API that is away and tells so; a name that is not there ends it', async t => {
  const fleet = await askedFleet(t, { leader: () => null, known: () => null })
  const { after, ...machine } = hurried()
  const stop = new AbortController()
  let looks = 0
  const clock: Clock = {
    ...machine,
    after(ms, then) {
      if (ms === watchEveryMs && ++looks === 3) stop.abort()
      return after(ms, then)
    },
  }
  const { code, out, err } = await fleet.run('plan --watch', { clock, stop: stop.signal })
  assert.deepEqual([code, out], [0, ''])
  // Said once, for it has not changed.
  assert.match(err, /^no-leader: nobody leads now\n.*\n {2}it is asked again until Ctrl-C\n$/)
  assert.equal((await fleet.run('flows nobody --watch', { clock: hurried() })).code, 4)
})

test('Ctrl-C does not wait for an answer that is on its way', async t => {
  const stop = new AbortController()
  const { run } = await askedFleet(t, {
    readOffsets: async (_flow, _of, signal) => {
      stop.abort()
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      return []
    },
  })
  assert.deepEqual(await run('offsets get clicks --watch', { stop: stop.signal }), { code: 0, out: '', err: '' })
})
