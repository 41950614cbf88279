import assert from 'node:assert/strict'
import { test } from 'node:test'
import { currentSecret } from '../../engine/credentials/current.ts'
import { MillraceError } from '../../engine/errors.ts'
import type { FlowEvent } from '../../engine/flow/event.ts'
import { startRedactor } from '../../engine/flow/redactor.ts'
import type { PlainSecrets } from '../../engine/ports/secrets.ts'
import { manualClock } from '../fakes/clock.ts'

const password = (value: string) => JSON.stringify({ username: 'u', password: value })

/** A file in memory; `text` null: it is not there. */
function startCurrent(first: string | null) {
  const clock = manualClock()
  const file = { text: first, reads: 0, held: Promise.resolve() }
  const events: FlowEvent[] = []
  const redactor = startRedactor()
  const secrets: PlainSecrets = {
    async read() {
      file.reads++
      await file.held
      if (file.text === null) throw new MillraceError('secret-missing', 'p.json is not there')
      return { versionId: file.text, text: file.text }
    },
  }
  const tell = (event: FlowEvent) => void events.push(event)
  const current = currentSecret({ kind: 'password', place: { file: 'p.json' }, secrets, clock, redactor, tell })
  const revealed = async () => {
    const credential = await current.get()
    return credential.kind === 'password' ? credential.password.reveal() : null
  }
  return { clock, file, events, redactor, current, revealed }
}

test('each login has the newest value, and its generation counts', async () => {
  const { file, current, revealed, redactor } = startCurrent(password('first-one'))
  assert.equal(current.generation(), 0)
  assert.equal(await revealed(), 'first-one')
  assert.equal(await revealed(), 'first-one')
  assert.equal(current.generation(), 1)
  file.text = password('second-one')
  assert.equal(await revealed(), 'second-one')
  assert.equal(current.generation(), 2)
  assert.equal(String(JSON.stringify(await current.get())).includes('[secret p.json g2]'), true)
  assert.equal(redactor.redact('first-one second-one'), '[redacted] [redacted]')
})

test('who listens is told within five seconds of a change, and nobody looks when nobody listens', async () => {
  const { clock, file, current } = startCurrent(password('first-one'))
  await current.get()
  let told = 0
  const ends = [current.onChange(() => told++), current.onChange(() => told++)]
  await clock.advance(60_000)
  assert.equal(told, 0)
  file.text = password('second-one')
  await clock.advance(5_000)
  assert.equal(told, 2)
  for (const end of ends) end()
  const reads = file.reads
  await clock.advance(60_000)
  assert.equal(file.reads, reads)
  const end = current.onChange(() => told++)
  file.text = password('third-one')
  await clock.advance(5_000)
  assert.equal(told, 3)
  end()
})

test('who comes while it is looked for, after the last listener has left, does not double the looks', async () => {
  const { clock, file, current } = startCurrent(password('first-one'))
  await current.get()
  const end = current.onChange(() => {})
  const held = Promise.withResolvers<void>()
  file.held = held.promise
  await clock.advance(5_000)
  end()
  current.onChange(() => {})
  held.resolve()
  await clock.settle()
  const { reads } = file
  await clock.advance(60_000)
  assert.equal(file.reads - reads, 12)
})

test('K-14: a bad value changes nothing, is told once, and a good one after it counts on', async () => {
  const { clock, file, current, revealed, events } = startCurrent(password('first-one'))
  await current.get()
  current.onChange(() => {})
  file.text = '{"username":"u","passwort":"second-one"}'
  await clock.advance(60_000)
  assert.equal(await revealed(), 'first-one')
  assert.deepEqual(
    events.map(({ code }) => code),
    ['secret-invalid'],
  )
  assert.match(events[0]?.message ?? '', /p\.json.* password: expected text; the value before it stays in use$/)
  assert.doesNotMatch(JSON.stringify(events), /second-one/)
  file.text = password('third-one')
  await clock.advance(5_000)
  assert.equal(await revealed(), 'third-one')
  assert.equal(current.generation(), 2)
})

test('a file that goes leaves the value in use, and is told once until it is back', async () => {
  const { clock, file, current, revealed, events } = startCurrent(password('first-one'))
  await current.get()
  current.onChange(() => {})
  file.text = null
  await clock.advance(60_000)
  assert.equal(await revealed(), 'first-one')
  assert.deepEqual(
    events.map(({ code }) => code),
    ['secret-missing'],
  )
  file.text = password('first-one')
  await clock.advance(5_000)
  assert.equal(current.generation(), 1)
})

test('without a good value a login is refused with the fault, until there is one', async () => {
  const { file, current, revealed } = startCurrent(null)
  await assert.rejects(current.get(), { code: 'secret-missing' })
  file.text = 'hunter2'
  await assert.rejects(current.get(), { code: 'secret-invalid', hint: /username/ })
  file.text = password('first-one')
  assert.equal(await revealed(), 'first-one')
  assert.equal(current.generation(), 1)
})
