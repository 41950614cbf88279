import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fault } from '../../engine/errors.ts'
import { silent } from '../../engine/ports/log.ts'
import { tellCoordination } from '../../engine/wiring/tellCoordination.ts'
import { manualClock } from '../fakes/clock.ts'

test('a process that does not agree with its fleet says why after two seconds, each minute, and that it is over', async () => {
  const clock = manualClock()
  const fault: Fault = { code: 'coordination-unreachable', message: 'a:2181: refused', hint: null }
  const said: string[] = []
  let trouble: Fault | null = null
  const log = { ...silent, info: (message: string) => said.push(message) }
  const end = tellCoordination(() => trouble, { clock, log, tell: (_flow, { message }) => said.push(message) })
  await clock.advance(5_000)
  trouble = fault
  await clock.advance(2_500)
  trouble = null
  await clock.advance(2_000)
  assert.deepEqual(said, [], 'what lasts less is nothing to tell')
  trouble = fault
  await clock.advance(4_000)
  assert.deepEqual(said, [fault.message])
  await clock.advance(60_000)
  assert.deepEqual(said, [fault.message, fault.message])
  trouble = null
  await clock.advance(60_000)
  assert.deepEqual(said.slice(2), ['the coordination service answers again'])
  end()
  trouble = fault
  await clock.advance(60_000)
  assert.equal(said.length, 3)
})
