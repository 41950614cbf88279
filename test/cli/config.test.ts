import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'millrace-config-'))
after(() => rmSync(folder, { recursive: true }))

const good = join(folder, 'good.yaml')
writeFileSync(
  good,
  `clusters:
  east: { brokers: ["e:1"] }
  west: { brokers: ["w:1"] }
coordination: { zookeeper: "z:1/m" }
flows:
  clicks: { kind: mirror, from: east, to: west, topics: { include: ["clicks\\\\..*"] } }
`,
)
const bad = join(folder, 'bad.yaml')
writeFileSync(bad, 'clusters:\n  east: { brokers: [e] }\nflows:\n  a: { kind: "mirro\\e[1m", from: east }\n')

function config(...args: string[]): { code: number | null; out: string; err: string } {
  const run = spawnSync(process.execPath, [join(root, 'cli/start.mjs'), 'config', ...args], { encoding: 'utf8' })
  return { code: run.status, out: run.stdout, err: run.stderr }
}

test('check of a good file says what is in it; a coordination in it means several processes', () => {
  assert.deepEqual(config('check', '-c', good), {
    code: 0,
    out: 'ok: 2 clusters, 1 flow\n',
    err: '',
  })
})

test('check of a bad file says every fault with its place and exits 2, without a control byte', () => {
  const { code, out, err } = config('check', '-c', bad)
  assert.deepEqual([code, out], [2, ''])
  assert.equal(
    err,
    `${bad}:2:21 clusters.east.brokers[0]: found 'e', expected HOST:PORT\n  as in: "east1:9092"\n` +
      `${bad}:4:14 flows.a.kind: found 'mirro\\x1B[1m', expected mirror\n`,
  )
})

test('check and explain give one JSON document with -o json', () => {
  const checked = config('check', '-c', bad, '-o', 'json')
  const { ok, faults } = JSON.parse(checked.out)
  assert.deepEqual([checked.code, checked.err, ok, faults.length, faults[0].line], [2, '', false, 2, 2])
  const explained = config('explain', '-c', good, '-o', 'json')
  assert.equal(explained.code, 0)
  assert.deepEqual(
    JSON.parse(explained.out).values.find(({ path }: { path: string }) => path === 'flows.clicks.topics.include[0]'),
    { path: 'flows.clicks.topics.include[0]', value: 'clicks\\..*', line: 6 },
  )
})

test('explain prints one flow or all, and what it prints is a configuration', () => {
  const { code, out } = config('explain', '-c', good)
  assert.equal(code, 0)
  assert.match(out, /^ {4}clientId: millrace # default$/m)
  const again = join(folder, 'again.yaml')
  writeFileSync(again, out)
  assert.equal(config('check', '-c', again).out, 'ok: 2 clusters, 1 flow\n')
  assert.match(config('explain', '-c', good, 'clicks').out, /^flows:\n {2}clicks:\n {4}kind: mirror # line 6\n/)
  const none = config('explain', '-c', good, 'click')
  assert.equal(none.code, 4)
  assert.match(none.err, /^not-found: .* has no flow 'click'\n {2}did you mean clicks\?\n$/)
})

test('check reads the secrets that a file names, from the folder of the file, and says no value', () => {
  const secured = join(folder, 'secured.yaml')
  const cluster = (name: string, place: string) =>
    `  ${name}: { brokers: ["e:1"], security: { mechanism: scram-sha-512, ${place} } }\n`
  const write = (...clusters: string[]) => writeFileSync(secured, `clusters:\n${clusters.join('')}flows: {}\n`)
  writeFileSync(join(folder, 'good.json'), '{"username":"u","password":"hunter2-hunter2"}')
  write(cluster('a', 'file: good.json'))
  assert.equal(config('check', '-c', secured).code, 0)
  writeFileSync(join(folder, 'bad.json'), '{"username":"u","passwort":"hunter2-hunter2"}')
  writeFileSync(join(folder, 'empty.json'), '')
  write(
    cluster('a', 'file: none.json'),
    cluster('b', 'env: MILLRACE_TEST_NOT_SET'),
    cluster('c', 'file: bad.json'),
    cluster('d', 'file: empty.json'),
  )
  const { code, out, err } = config('check', '-c', secured)
  assert.deepEqual([code, out], [2, ''])
  const lines = err.split('\n').filter(line => line.startsWith(secured))
  assert.deepEqual(
    lines.map(line =>
      line
        .slice(secured.length)
        .replace(folder, '…')
        .replace(/, version \w+/, ''),
    ),
    [
      ':2:70 clusters.a.security.file: found secret-missing: …/none.json is not there, expected a secret of kind password',
      ':3:69 clusters.b.security.env: found secret-missing: variable MILLRACE_TEST_NOT_SET is not set, expected a secret of kind password',
      ':4:70 clusters.c.security.file: found secret-invalid: …/bad.json: password: expected text, expected a secret of kind password',
      ':5:70 clusters.d.security.file: found secret-empty: …/empty.json holds nothing, expected a secret of kind password',
    ],
  )
  assert.doesNotMatch(err, /hunter2/)
  assert.doesNotMatch(config('explain', '-c', secured).out, /hunter2/)
})

test('check reads the secrets of coordination and of the API too', () => {
  const path = join(folder, 'fleet.yaml')
  const blocks =
    'coordination: { zookeeper: "z:1/m", auth: { file: zk.json } }\napi: { tokens: { file: tokens.json } }\n'
  writeFileSync(path, `clusters: {}\n${blocks}`)
  writeFileSync(join(folder, 'zk.json'), '{"username":"u","password":"hunter2-hunter2"}')
  const bad = config('check', '-c', path)
  assert.equal(bad.code, 2)
  assert.match(bad.err, /:2:51 coordination\.auth\.file: found secret-invalid: .* user: expected text without ':'/)
  assert.match(bad.err, /:3:24 api\.tokens\.file: found secret-missing: .*\/tokens\.json is not there/)
  assert.doesNotMatch(bad.err, /hunter2/)
  writeFileSync(join(folder, 'zk.json'), '{"user":"u","password":"hunter2-hunter2"}')
  const token = { name: 'ci', role: 'admin', sha256: 'a'.repeat(64) }
  writeFileSync(join(folder, 'tokens.json'), JSON.stringify({ tokens: [token] }))
  assert.equal(config('check', '-c', path).code, 0)
})

test('a file that cannot be read and a flag that is missing are usage', () => {
  const missing = config('check', '-c', join(folder, 'none.yaml'))
  assert.equal(missing.code, 2)
  assert.match(missing.err, /^config-invalid: .*none\.yaml is not there\n {2}looked for at \/.*\/none\.yaml\n/)
  assert.match(config('explain', '-c', folder).err, /is a directory\n/)
  const unsaid = config('check')
  assert.equal(unsaid.code, 2)
  assert.match(unsaid.err, /--config <file>/)
  assert.equal(config('check', '-c', good, '-o', 'xml').code, 2)
})
