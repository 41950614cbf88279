import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, describe, test } from 'node:test'
import { folder, rigMain, startScript } from './rigCommand.ts'
import { live } from './rigFor.ts'

/** A small program that stands in for a tool. */
function fake(path: string, script: string): string {
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}

/** A folder for `PATH` with nothing of what the rig looks for, but the shell that guards it. */
function poorPath(path: string): string {
  mkdirSync(path)
  for (const tool of ['bash', 'sh', 'rm', 'sleep', 'dirname'])
    symlinkSync(execFileSync('which', [tool], { encoding: 'utf8' }).trim(), join(path, tool))
  return path
}

describe('two starts with one cache that is empty at first', live, () => {
  const temporary = folder('cache')
  const cache = join(temporary.path, 'cache')
  const start = (env: NodeJS.ProcessEnv = {}) =>
    startScript(rigMain, ['kafka', '--', 'true'], { MILLRACE_RIG_CACHE: cache, TMPDIR: temporary.path, ...env }).ended
  let firstMs = 0
  after(() => temporary[Symbol.dispose]())

  test('RIG 3: two owners start at the same moment, both succeed, and one folder of jars is left', async () => {
    const began = performance.now()
    for (const { code, stderr } of await Promise.all([start(), start()])) assert.equal(code, 0, stderr)
    firstMs = performance.now() - began
    const names = readdirSync(cache)
    assert.equal(names.length, 1, `${names}`)
    assert.match(names[0] ?? '', /^kafka-[0-9a-f]{16}$/)
  })

  test('RIG 4: the second start runs no Maven, and takes at most half of the time', async () => {
    const began = performance.now()
    const { code, stderr } = await start({ MVN: fake(join(temporary.path, 'mvn'), 'exit 9') })
    assert.equal(code, 0, stderr)
    const secondMs = performance.now() - began
    assert.ok(secondMs <= firstMs / 2, `first ${firstMs} ms, second ${secondMs} ms`)
  })
})

test('RIG 11: a machine without java, or with an old one, is told so before anything is made', live, async () => {
  using temporary = folder('tools')
  const PATH = poorPath(join(temporary.path, 'bin'))
  const cache = join(temporary.path, 'cache')
  const env = { PATH, JAVA_HOME: undefined, MILLRACE_RIG_CACHE: cache, TMPDIR: temporary.path }
  const before = readdirSync(temporary.path)

  const none = await startScript(rigMain, ['kafka'], env).ended
  assert.equal(none.code, 3, none.stderr)
  assert.match(none.stderr, /^rig-tool-missing: java not found .*≥ 17 needed/)

  fake(join(PATH, 'java'), 'echo \'openjdk version "11.0.2" 2019-01-15\' >&2')
  const old = await startScript(rigMain, ['kafka'], env).ended
  assert.equal(old.code, 3, old.stderr)
  assert.match(old.stderr, /^rig-tool-missing: java 11\.0\.2 found .*≥ 17 needed/)
  assert.deepEqual(readdirSync(temporary.path), before)
})

test('RIG 12: without a network an empty cache is told as a failed download, a full one is enough', live, async () => {
  using temporary = folder('offline')
  const settings = join(temporary.path, 'settings.xml')
  const mirror = '<mirror><id>dead</id><mirrorOf>*</mirrorOf><url>http://127.0.0.1:1/</url></mirror>'
  writeFileSync(settings, `<settings><mirrors>${mirror}</mirrors></settings>`)
  const repository = join(temporary.path, 'repository')
  const MVN = fake(
    join(temporary.path, 'mvn'),
    `exec ${process.env['MVN'] || 'mvn'} -s ${settings} -Dmaven.repo.local=${repository} "$@"`,
  )
  const cache = join(temporary.path, 'cache')
  const empty = await startScript(rigMain, ['kafka', '--', 'true'], { MVN, MILLRACE_RIG_CACHE: cache }).ended
  assert.equal(empty.code, 4, empty.stderr)
  assert.match(empty.stderr, /^rig-download: /)
  assert.match(empty.stderr, /127\.0\.0\.1:1/)
  assert.deepEqual(readdirSync(cache), [])

  const full = await startScript(rigMain, ['kafka', '--', 'true'], { MVN }).ended
  assert.equal(full.code, 0, full.stderr)
})

test('RIG 14: --json writes one line of JSON and nothing else, and a command gives its exit code', live, async () => {
  using temporary = folder('command')
  const env = { TMPDIR: temporary.path }
  const { child, ended } = startScript(rigMain, ['kafka', '--json'], env)
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const bootstrap: unknown = JSON.parse(line).kafka.bootstrap
  assert.match(String(bootstrap), /^127\.0\.0\.1:\d+$/)
  child.kill('SIGTERM')
  const stopped = await ended
  assert.equal(stopped.code, 0, stopped.stderr)
  assert.equal(stopped.stdout, `${line}\n`)
  assert.equal(stopped.stderr, '')

  const failed = await startScript(rigMain, ['kafka', '--', 'false'], env).ended
  assert.equal(failed.code, 1)
  assert.deepEqual(
    readdirSync(temporary.path).filter(name => name.startsWith('millrace-')),
    [],
  )
})

test('a part that is not known is answered with the known ones, and with the one that was meant', live, async () => {
  const { code, stderr } = await startScript(rigMain, ['kafak']).ended
  assert.equal(code, 2)
  assert.match(stderr, /^rig-usage: unknown part kafak; known: kafka.*\n {2}hint: did you mean kafka\?/)
})
