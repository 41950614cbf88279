import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, test } from 'node:test'
import { root } from './tidy/tree.ts'

/** A PATH of its own: what the script itself calls, and the stand-ins of a test. No apt-get, so nothing is installed. */
const bin = mkdtempSync(join(tmpdir(), 'millrace-dev-'))
after(() => rmSync(bin, { recursive: true }))
for (const tool of ['bash', 'cat', 'dirname', 'env', 'head', 'id', 'sed']) symlinkSync(whereIs(tool), join(bin, tool))

function whereIs(tool: string): string {
  const found = spawnSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).stdout.trim()
  assert.notEqual(found, '', tool)
  return found
}

function standIn(tool: string, says: string): void {
  writeFileSync(join(bin, tool), `#!${whereIs('bash')}\necho '${says}'\n`)
  chmodSync(join(bin, tool), 0o755)
}

function dev(args: string[], more: Record<string, string> = {}) {
  const env = { PATH: bin, ...more }
  const run = spawnSync(whereIs('bash'), [join(root, 'dev'), ...args], { env, encoding: 'utf8' })
  return { code: run.status, out: run.stdout, err: run.stderr }
}

test('without Java and Maven ./dev names what is missing and the lines to type, and exits 3', () => {
  const { code, err } = dev(['up'])
  assert.equal(code, 3)
  assert.match(err, /java not found, >= 17 needed/)
  assert.match(err, /mvn not found, >= 3\.8 needed/)
  assert.match(err, /sudo apt-get install openjdk-17-jre-headless maven$/m)
  assert.match(err, /--from HOST:PORT --to HOST:PORT/)
})

test('too old a Java and too old a Maven are named with the version that was found', () => {
  standIn('java', 'openjdk version "11.0.2" 2019-01-15')
  standIn('mvn', 'Apache Maven 3.6.3')
  const old = dev(['test'])
  assert.equal(old.code, 3)
  assert.match(old.err, /java 11 found, >= 17 needed/)
  assert.match(old.err, /openssl not found/)
  assert.doesNotMatch(old.err, /mvn/, 'without its Java no version of Maven can be told')
  standIn('java', 'java version "1.8.0_392"')
  assert.match(dev(['up']).err, /java 8 found/)
  standIn('java', 'openjdk version "21.0.1" 2023-10-17')
  const { code, err } = dev(['up'])
  assert.equal(code, 3)
  assert.match(err, /mvn 3\.6 found, >= 3\.8 needed/)
  assert.doesNotMatch(err, /java \d+ found/)
})

test('JAVA_HOME and MVN are honoured', () => {
  standIn('java', 'openjdk version "21.0.1" 2023-10-17')
  standIn('mvn', 'Apache Maven 3.9.9')
  assert.match(dev(['up'], { JAVA_HOME: '/nowhere' }).err, /java not found in JAVA_HOME=\/nowhere, >= 17 needed/)
  assert.match(dev(['up'], { MVN: '/nowhere/mvn' }).err, /mvn not found/)
})

test('with brokers that exist no Java is asked for: the next thing missed is npm', () => {
  standIn('java', 'openjdk version "11.0.2" 2019-01-15')
  const { code, err } = dev(['up', '--from', 'a:9092', '--to', 'b:9092'])
  assert.equal(code, 3)
  assert.match(err, /^dev: npm not found/)
})

test('help names each command, an unknown command exits 2', () => {
  const help = dev(['help'])
  assert.equal(help.code, 0)
  for (const command of ['up', 'test', 'millrace', 'help'])
    assert.match(help.out, new RegExp(`^\\./dev ${command}`, 'm'))
  const unknown = dev(['upp'])
  assert.equal(unknown.code, 2)
  assert.match(unknown.err, /unknown command upp/)
})

test('./dev millrace is the command, with its own exit codes', () => {
  // Nothing is installed: here others may be at work with what is there.
  standIn('npm', 'nothing was done')
  const env = { PATH: `${bin}${delimiter}${process.env['PATH']}` }
  const how = { env, encoding: 'utf8', cwd: bin } as const
  const run = (...args: string[]) => spawnSync(join(root, 'dev'), ['millrace', ...args], how)
  const help = run('mirror', '--help')
  assert.equal(help.status, 0, help.stderr)
  assert.match(help.stdout, /^Usage: millrace mirror /)
  assert.equal(run('mirror').status, 2)
  writeFileSync(join(bin, 'here.yaml'), 'clusters: {east: {brokers: ["east:9092"]}}\n')
  const check = run('config', 'check', '-c', 'here.yaml')
  assert.equal(check.status, 0, `a file is named from the caller's folder: ${check.stderr}`)
})

test('./dev is short, and it and .ci/run can be executed', () => {
  assert.ok(readFileSync(join(root, 'dev'), 'utf8').split('\n').length < 100)
  for (const script of ['dev', '.ci/run']) {
    const run = spawnSync('test', ['-x', join(root, script)], { env: { PATH: process.env['PATH'] ?? delimiter } })
    assert.equal(run.status, 0, script)
  }
})
