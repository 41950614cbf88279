import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LeaderSeen } from '../../engine/fleet/leaderSeen.ts'
import { leaderLookMs } from '../../engine/limits.ts'
import { tellLeader } from '../../tasks/controller/tellLeader.ts'
import { manualClock } from '../fakes/clock.ts'

test('a controller says once that it stands by, that it leads, and that it does no more', async () => {
  const clock = manualClock()
  const lines: string[] = []
  let leading: number | null = null
  let seen: LeaderSeen | null = null
  const end = tellLeader(
    { id: 'c2', leading: () => leading, seen: () => seen },
    { clock, log: { info: text => void lines.push(text) } },
  )
  const look = async (now: { leading: number | null; seen: LeaderSeen | null }) => {
    ;({ leading, seen } = now)
    await clock.advance(2 * leaderLookMs)
  }
  const at = (id: string, epoch: number) => ({ id, epoch, url: null })
  await look({ leading: null, seen: null })
  await look({ leading: null, seen: at('c1', 3) })
  await look({ leading: null, seen: null })
  await look({ leading: 4, seen: at('c1', 3) })
  await look({ leading: null, seen: at('c2', 4) })
  await look({ leading: null, seen: at('c1', 5) })
  await look({ leading: 6, seen: at('c2', 6) })
  end()
  await look({ leading: 7, seen: null })
  assert.deepEqual(lines, [
    'stands by behind c1, which leads epoch 3',
    'leads epoch 4',
    'leads no more: the office is over, epoch 4',
    'stands by behind c1, which leads epoch 5',
    'leads epoch 6',
  ])
})
