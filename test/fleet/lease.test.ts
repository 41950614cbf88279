import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Lease, type Sent, startLease } from '../../engine/fleet/lease.ts'
import { manualClock } from '../fakes/clock.ts'
import { playScript } from './decide/script.ts'

/** A lease on a clock that can stall, and a machine that can be suspended. */
function leased(sessionMs: number) {
  const clock = manualClock()
  const said: string[] = []
  const machine = { suspendedMs: 0, stalledMs: 0 }
  const tell = (state: string) => () => void said.push(`${clock.nowMs() + machine.stalledMs} ${state}`)
  const nowMs = () => clock.nowMs() + machine.stalledMs
  const lease: Lease = startLease({
    clock: { ...clock, nowMs },
    uptimeMs: () => nowMs() + machine.suspendedMs,
    sessionMs,
    on: { closing: tell('closing'), fenced: tell('fenced'), open: tell('open') },
  })
  return { clock, lease, machine, said }
}

test('COORDINATION 1: the timeline of a lease, with late answers, a stopped process and a suspended machine', async () => {
  let { clock, lease, machine, said } = leased(10_000)
  let sent: Sent | null = null
  const state = () => {
    const last = lease.state() === 'closing' && lease.mayCommit() ? ', may commit' : ''
    return `${lease.state()}, ${lease.remainingMs()} left${last}`
  }
  const commands: Record<string, (ms: number) => void | Promise<void>> = {
    begin(ms) {
      ;({ clock, lease, machine, said } = leased(ms))
    },
    beat: () => lease.answered(lease.sent()),
    async 'beat answered after'(ms) {
      const beat = lease.sent()
      await clock.advance(ms)
      lease.answered(beat)
    },
    send() {
      sent = lease.sent()
    },
    answer() {
      if (sent) lease.answered(sent)
    },
    advance: ms => clock.advance(ms),
    stall(ms) {
      machine.stalledMs += ms
    },
    suspend(ms) {
      machine.suspendedMs += ms
    },
  }
  await playScript(new URL('decide/scripts/lease.txt', import.meta.url), async line => {
    const [, command = '', ms] = /^(.*?)(?: (\d+))?$/.exec(line) ?? []
    await commands[command]?.(Number(ms))
    return command === 'send' ? [] : [...said.splice(0), state()]
  })
})

test('COORDINATION 5: a beat answered after 6 s, then silence: the fence comes 7 000 ms after its sending', async () => {
  const { clock, lease, said } = leased(10_000)
  const beat = lease.sent()
  await clock.advance(6_000)
  lease.answered(beat)
  await clock.advance(60_000)
  assert.deepEqual(said, ['6000 open', '6500 closing', '7000 fenced'])
})

test('the silence of others counts only while our own beats are answered without a hole', async () => {
  const { clock, lease } = leased(10_000)
  assert.equal(lease.answeredSinceMs(), 0)
  await clock.advance(1_000)
  lease.answered(lease.sent())
  for (let i = 0; i < 5; i++) {
    await clock.advance(2_000)
    lease.answered(lease.sent())
  }
  assert.equal(lease.answeredSinceMs(), 1_000)
  // More than S/3 without an answer: nobody is silent by our word.
  await clock.advance(3_334)
  assert.equal(lease.answeredSinceMs(), 14_334)
  await clock.advance(50_000)
  assert.equal(lease.answeredSinceMs(), 64_334)
  lease.answered(lease.sent())
  await clock.advance(3_000)
  assert.equal(lease.answeredSinceMs(), 64_334)
})

test('a lease that was stopped is fenced, and tells nobody', async () => {
  const { clock, lease, said } = leased(10_000)
  lease.answered(lease.sent())
  lease.stop()
  await clock.advance(20_000)
  lease.answered(lease.sent())
  assert.deepEqual([lease.state(), lease.remainingMs(), said], ['fenced', 0, ['0 open']])
})
