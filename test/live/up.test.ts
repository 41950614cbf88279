import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it } from 'node:test'
import { openPlain } from '../../rig/openPlain.ts'
import { live, rigFor } from './rigFor.ts'

const root = join(import.meta.dirname, '../..')
const longestMs = 120_000

/** What `./dev up` runs when nothing has to be installed. */
function up(args: string[]): {
  child: ChildProcess
  lines: string[]
  line(fits: RegExp): Promise<string>
  ended: Promise<{ code: number | null; stdout: string; stderr: string }>
} {
  const flags = ['--disable-warning=TimeoutNegativeWarning', join(root, 'rig/up.ts')]
  const child = spawn(process.execPath, [...flags, ...args], { stdio: ['ignore', 'pipe', 'pipe'], timeout: longestMs })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  let stderr = ''
  child.stderr.on('data', data => {
    stderr += data
  })
  createInterface({ input: child.stdout }).on('line', text => {
    lines.push(text)
    for (const look of waiting) look()
  })
  const ended = once(child, 'close').then(([code]) => ({ code, stdout: lines.join('\n'), stderr }))
  const line = (fits: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const found = lines.find(text => fits.test(text))
        if (found !== undefined) resolve(found)
      }
      waiting.add(look)
      look()
      ended.then(end => reject(new Error(`it ended with ${end.code}:\n${end.stdout}\n${end.stderr}`)))
    })
  return { child, lines, line, ended }
}

describe('./dev up', live, () => {
  it('with --check copies every kind of topic, finds both sides equal and exits 0', async () => {
    const { code, stdout, stderr } = await up(['--check']).ended
    assert.equal(code, 0, stderr)
    assert.equal(stderr, '')
    for (const kind of ['none', 'gzip', 'snappy', 'lz4', 'zstd', 'append-time', 'transactions', 'compacted']) {
      assert.match(stdout, new RegExp(`^millrace-demo-${kind} .* equal$`, 'm'))
    }
    assert.match(stdout, /^millrace-demo-transactions +1 +1,000 .* 500 +1,000 +equal$/m)
    assert.match(stdout, /^copied: 8 topics, 26 partitions, [\d,]+ records, [\d.]+ MiB in [\d.]+ s, [\d.]+ MiB\/s /m)
    assert.match(stdout, /\nboth sides are equal$/)
  })

  it('goes on until Ctrl-C, ends cleanly with 0, and leaves nothing behind', async () => {
    const running = up([])
    const first = await running.line(/^source /)
    const progress = await running.line(/"type":"progress".*"records":[1-9]/)
    assert.ok(JSON.parse(progress).partitions === 8)
    running.child.kill('SIGINT')
    const { code, stdout, stderr } = await running.ended
    assert.equal(code, 0, stderr)
    assert.match(stdout, /"type":"summary".*"ok":true,"reason":"signal"/)
    await assert.rejects(connected(first.split(/ +/)[1] ?? ''))
  })

  it('with brokers that exist asks before it makes topics, and makes only its own', async () => {
    await using set = await rigFor({})
    const brokers = ['--from', set.east.bootstrap, '--to', set.west.bootstrap]
    const asked = await up(['--check', ...brokers]).ended
    assert.equal(asked.code, 2)
    assert.match(asked.stderr, /millrace-demo-\* are created .* say --yes/)
    const west = openPlain('west', set.west.bootstrap)
    const names = async () => (await west.admin.look('all')).topics.map(({ topic }) => topic)
    const before = await names()
    const { code, stdout, stderr } = await up(['--check', '--yes', ...brokers]).ended
    assert.equal(code, 0, stderr)
    assert.match(stdout, /\nboth sides are equal$/m)
    const made = (await names()).filter(name => !before.includes(name) && !name.startsWith('__'))
    await west.close()
    assert.deepEqual(
      made.filter(name => name.startsWith('millrace-demo-')).toSorted(),
      ['gzip', 'lz4', 'none', 'snappy', 'zstd'].map(name => `millrace-demo-${name}`),
    )
  })

  it('says in words that brokers do not answer, and that it does not know a cluster', async () => {
    const { code, stderr } = await up(['--check', '--yes', '--from', '127.0.0.1:1', '--to', '127.0.0.1:2']).ended
    assert.equal(code, 4)
    assert.match(stderr, /^kafka-unreachable: source: .*127\.0\.0\.1:1/m)
    assert.doesNotMatch(stderr, /^ +at /m)
  })

  it('names an option that it does not know', async () => {
    const { code, stderr } = await up(['--chekc']).ended
    assert.equal(code, 2)
    assert.match(stderr, /unknown option --chekc/)
  })
})

async function connected(bootstrap: string): Promise<void> {
  const cluster = openPlain('gone', bootstrap)
  try {
    await cluster.admin.look([])
  } finally {
    await cluster.close()
  }
}
