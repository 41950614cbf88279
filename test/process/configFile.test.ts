import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { EventEmitter } from 'node:events'
import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MillraceError } from '../../engine/errors.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import { readConfigText, watchConfig } from '../../engine/process/configFile.ts'
import { manualClock } from '../fakes/clock.ts'

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'millrace-config-'))
  t.after(() => rmSync(made, { recursive: true }))
  return made
}

/** A watched file, and what was told of it. `looks(n)` lets n seconds pass, each until the file has been looked at. */
function watched(t: TestContext, path: string, text: string) {
  const manual = manualClock()
  let asked = () => {}
  const clock: Clock = {
    ...manual,
    after(ms, then) {
      const cancel = manual.after(ms, then)
      asked()
      return cancel
    },
  }
  const signals = new EventEmitter()
  const events = new EventEmitter()
  const told: string[] = []
  const say = (what: string) => {
    told.push(what)
    events.emit('told')
  }
  const watch = watchConfig(path, {
    text,
    clock,
    signals,
    onChange: changed => say(changed),
    onFault: fault => say(`${fault.code}: ${fault.message.replace(path, 'FILE')}`),
  })
  t.after(() => watch.close())
  const looks = async (seconds: number) => {
    for (let n = 0; n < seconds; n++) {
      const again = new Promise<void>(resolve => {
        asked = resolve
      })
      await manual.advance(1_000)
      await again
    }
  }
  const next = () => new Promise<void>(resolve => events.once('told', () => resolve()))
  return { told, looks, signals, next, watch, manual }
}

test('a change is taken in when the file has been left alone for 2 s, once', async t => {
  const path = join(folder(t), 'a.yaml')
  writeFileSync(path, 'one')
  const { told, looks } = watched(t, path, 'one')
  await looks(5)
  assert.deepEqual(told, [])
  writeFileSync(path, 'two!')
  await looks(2)
  writeFileSync(path, 'three')
  await looks(2)
  assert.deepEqual(told, [])
  await looks(1)
  assert.deepEqual(told, ['three'])
  await looks(5)
  assert.deepEqual(told, ['three'])
})

test('what changed between the first reading and the watch is seen, and a touch alone is not told', async t => {
  const path = join(folder(t), 'a.yaml')
  writeFileSync(path, 'new')
  const { told, looks } = watched(t, path, 'old')
  await looks(3)
  assert.deepEqual(told, ['new'])
  writeFileSync(path, 'new')
  await looks(4)
  assert.deepEqual(told, ['new'])
})

test('a rename over the file, a link that is turned and a file that is missing for a while are seen', async t => {
  const root = folder(t)
  const path = join(root, 'a.yaml')
  for (const name of ['v1', 'v2']) {
    mkdirSync(join(root, name))
    writeFileSync(join(root, name, 'a.yaml'), name)
  }
  symlinkSync('v1', join(root, 'data'))
  symlinkSync('data/a.yaml', path)
  const { told, looks } = watched(t, path, 'v1')
  await looks(4)
  symlinkSync('v2', join(root, 'next'))
  renameSync(join(root, 'next'), join(root, 'data'))
  await looks(3)
  assert.deepEqual(told, ['v2'])
  writeFileSync(join(root, 'edited'), 'v3')
  renameSync(join(root, 'edited'), path)
  await looks(3)
  assert.deepEqual(told, ['v2', 'v3'])
  unlinkSync(path)
  await looks(10)
  writeFileSync(path, 'v4')
  await looks(3)
  assert.deepEqual(told, ['v2', 'v3', 'v4'])
})

test('what cannot be read is told once, and what is put right is taken in', async t => {
  const path = join(folder(t), 'a.yaml')
  writeFileSync(path, 'one')
  const { told, looks } = watched(t, path, 'one')
  await looks(4)
  writeFileSync(path, Buffer.from([0x61, 0xff]))
  await looks(8)
  assert.deepEqual(told, ['config-invalid: FILE is not UTF-8'])
  writeFileSync(path, 'two')
  await looks(3)
  assert.deepEqual(told.slice(1), ['two'])
})

test('SIGHUP takes the file in at once and always, and says when it is missing', { timeout: 20_000 }, async t => {
  const path = join(folder(t), 'a.yaml')
  writeFileSync(path, 'one')
  const { told, signals, next, watch } = watched(t, path, 'one')
  const hangUp = () => {
    const done = next()
    signals.emit('SIGHUP')
    return done
  }
  await hangUp()
  writeFileSync(path, 'two')
  await hangUp()
  unlinkSync(path)
  await hangUp()
  assert.deepEqual(told, ['one', 'two', 'config-invalid: FILE is not there'])
  watch.close()
  assert.equal(signals.listenerCount('SIGHUP'), 0)
})

test('a file that is no text of at most 1 MiB is refused with the reason', async t => {
  const root = folder(t)
  const refused = (path: string, reason: RegExp) =>
    assert.rejects(readConfigText(path), error => {
      assert.ok(error instanceof MillraceError && error.code === 'config-invalid')
      assert.match(error.message, reason)
      return true
    })
  const file = (name: string, content: string | Buffer) => {
    writeFileSync(join(root, name), content)
    return join(root, name)
  }
  await refused(join(root, 'none'), /none is not there$/)
  await refused(join(file('text', ''), 'below'), /is not there$/)
  await refused(root, /is a directory$/)
  await refused(file('bytes', Buffer.from([0xc3, 0x28])), /is not UTF-8$/)
  await refused(file('large', 'x'.repeat(1024 * 1024 + 1)), /is larger than 1048576 bytes$/)
  symlinkSync('loop', join(root, 'loop'))
  await refused(join(root, 'loop'), /leads to itself$/)
  if (process.getuid?.() !== 0) {
    const path = file('shut', 'x')
    chmodSync(path, 0)
    await refused(path, /may not be read/)
  }
  assert.equal((await readConfigText(file('full', 'x'.repeat(1024 * 1024)))).length, 1024 * 1024)
  assert.equal(await readConfigText(file('marked', '\uFEFFa: 1')), 'a: 1')
})

test('what is no file with a content of its own, a pipe or a device, is read once', async t => {
  const { told, looks } = watched(t, '/dev/null', 'one')
  await looks(5)
  assert.deepEqual(told, [])
})

test('a pipe in the place of the file is refused on SIGHUP, and holds no thread', { timeout: 20_000 }, async t => {
  const path = join(folder(t), 'a.yaml')
  execFileSync('mkfifo', [path])
  const { told, signals, next } = watched(t, path, 'one')
  const done = next()
  signals.emit('SIGHUP')
  // Were it opened and waited for, this writer would let it go on, and the test fail in place of hanging.
  const writer = setTimeout(() => closeSync(openSync(path, constants.O_RDWR)), 5_000)
  await done
  clearTimeout(writer)
  assert.deepEqual(told, ['config-invalid: FILE is a pipe or a device: read once, at the start'])
})
