import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import fs, { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { MillraceError } from '../../engine/errors.ts'
import { logLineBytesMax, logMarkMs, logWriteAgainMs } from '../../engine/limits.ts'
import { cutLine } from '../../engine/process/cutLine.ts'
import { type LogLevel, startLogger } from '../../engine/process/logger.ts'
import { prettyLine, showSafe } from '../../engine/process/pretty.ts'
import { manualClock } from '../fakes/clock.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'millrace-logger-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

function started(level: LogLevel = 'info') {
  const path = join(dir, 'log')
  const clock = manualClock()
  const how = { svc: 'mirror', task: '-', container: 'c1', level, fd: openSync(path, 'w'), clock, chance: () => 0.5 }
  const log = startLogger({ ...how, version: '0.1.0' })
  const lines = () =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as Record<string, unknown>)
  return { log, clock, lines }
}

test('a life begins with log-start and ends with log-end, numbered without a hole (L-2, L-3)', async () => {
  const { log, lines } = started()
  log.info('copying', { flow: 'clicks', topic: 'a', partition: 3, offset: 9007199254740993n })
  log.debug('not at this level')
  log.warn('careful', { msg: 'mine', seq: 7, level: 'x' })
  await log.end(0)
  const all = lines()
  assert.deepEqual(
    all.map(line => [line['seq'], line['ev'] ?? line['msg']]),
    [
      [1, 'log-start'],
      [2, 'copying'],
      [3, 'careful'],
      [4, 'log-end'],
    ],
  )
  assert.match(String(all[0]?.['boot']), /^[0-9a-z]{12}$/)
  assert.match(String(all[1]?.['ts']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.equal(all[1]?.['offset'], '9007199254740993')
  assert.deepEqual([all[2]?.['msg_'], all[2]?.['seq_'], all[2]?.['level_']], ['mine', 7, 'x'])
})

test('a minute of silence is told from loss by a mark (L-3)', async () => {
  const { log, clock, lines } = started()
  await clock.advance(logMarkMs)
  await clock.advance(logMarkMs / 2)
  log.info('a word')
  await clock.advance(logMarkMs / 2)
  await clock.advance(logMarkMs)
  await log.end(0)
  assert.deepEqual(
    lines().map(line => line['ev'] ?? line['msg']),
    ['log-start', 'log-mark', 'a word', 'log-mark', 'log-end'],
  )
})

test('a secret in a field is never written (L-14)', async () => {
  const { log, lines } = started()
  log.info('x', { password: 'hunter2', cluster: { secret: 'hunter2', deeper: { token: 'hunter2' } } })
  await log.end(0)
  assert.ok(!JSON.stringify(lines()).includes('hunter2'))
})

test('an error is one field with code and message, its stack one string (L-6)', async () => {
  const { log, lines } = started()
  log.error('failed', { err: new MillraceError('source-gap', 'gone', { cause: new Error('below') }) })
  log.error('failed', { err: new RangeError('bad') })
  await log.end(1)
  const [, mine, other] = lines()
  assert.deepEqual(mine?.['err'], { code: 'source-gap', message: 'gone', cause: 'below' })
  assert.match(String((other?.['err'] as { stack: string } | undefined)?.stack), /^RangeError: bad\n/)
})

test('a line that is too long is cut at its stack, then at its message, then to the known fields (L-4)', () => {
  const base = { ts: 't', level: 'info', svc: 's', task: '-', container: 'c', boot: 'b', seq: 1 }
  const long = JSON.stringify({ ...base, msg: 'short', err: { code: 'x', message: 'm', stack: 'ä'.repeat(9000) } })
  const message = JSON.stringify({ ...base, msg: 'ü'.repeat(9000), err: { code: 'x', message: 'm', stack: 's' } })
  const fields = JSON.stringify({
    ...base,
    msg: 'kept',
    other: 'z'.repeat(9000),
    err: { code: 'x', message: 'm'.repeat(600) },
  })
  for (const [line, kept] of [
    [long, 'stack'],
    [message, 'msg'],
    [fields, 'known'],
  ] as const) {
    const cut = cutLine(line)
    const parsed = JSON.parse(cut) as Record<string, unknown>
    assert.ok(Buffer.byteLength(cut) + 1 <= logLineBytesMax, kept)
    assert.equal(parsed['cutBytes'], Buffer.byteLength(line) + 1 - logLineBytesMax)
    assert.equal(Object.keys(parsed).at(-1), 'cutBytes')
  }
  assert.equal((JSON.parse(cutLine(long)) as { msg: string }).msg, 'short')
  assert.ok(Buffer.byteLength(cutLine(long)) > logLineBytesMax - 8)
  assert.equal((JSON.parse(cutLine(fields)) as { other?: string }).other, undefined)
  assert.equal((JSON.parse(cutLine(fields)) as { msg: string }).msg, 'kept')
  assert.equal(cutLine('{"a":1}'), '{"a":1}')
})

test('a pretty line has its parts in the order of LOGS §2.2, and no control byte passes', () => {
  const line = {
    ts: '2026-01-02T10:15:02.120Z',
    level: 'warn',
    svc: 'mirror',
    msg: 'fetch timed out',
    flow: 'clicks',
    topic: 'page',
    partition: 7,
    offset: 4182,
    attempt: 2,
    note: 'slow disk',
  }
  assert.match(
    prettyLine(line),
    /^\d\d:\d\d:02\.120 mirror WARN {2}clicks page\/7@4182 fetch timed out attempt=2 note="slow disk"$/,
  )
  const alone = { ...line, msg: 'page: no such topic', partition: undefined, offset: undefined }
  assert.match(prettyLine(alone), /clicks page no such topic attempt=2/)
  assert.equal(showSafe('a\u001b[31mb\u202ec\ttab'), 'a\\x1B[31mb\\u202Ec\ttab')
})

test('a full pipe is asked again now and then, not all the time, and nothing of the log is lost (L-10)', async t => {
  const path = join(dir, 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  assert.throws(
    () => {
      for (;;) writeSync(fd, Buffer.alloc(4_096, '\n'))
    },
    { code: 'EAGAIN' },
  )
  const writes = t.mock.method(fs, 'write')
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
    closeSync(reader)
    closeSync(fd)
  })
  const clock = manualClock()
  const how = { svc: 'mirror', task: '-', container: 'c1', level: 'info', fd, clock, chance: () => 0.5 } as const
  const log = startLogger({ ...how, version: '0.1.0' })
  const tries = 10
  await new Promise(resolve => setTimeout(resolve, tries * logWriteAgainMs))
  assert.ok(writes.mock.callCount() <= tries + 1, `${writes.mock.callCount()} writes to a full pipe`)

  const ended = log.end(0)
  const buffer = Buffer.alloc(1 << 20)
  let text = buffer.toString('utf8', 0, readSync(reader, buffer))
  await ended
  text += buffer.toString('utf8', 0, readSync(reader, buffer))
  const said = text.split('\n').filter(Boolean)
  assert.deepEqual(
    said.map(line => JSON.parse(line).ev),
    ['log-start', 'log-end'],
  )
})
