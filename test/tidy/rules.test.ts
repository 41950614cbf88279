import assert from 'node:assert/strict'
import { test } from 'node:test'
import { citationBreaches } from './citations.ts'
import { errorCodeBreaches } from './errorCodes.ts'
import { exportBreaches } from './exports.ts'
import { libraryBreaches } from './libraries.ts'
import { machinePathBreaches, nameBreaches } from './names.ts'
import { purityBreaches } from './purity.ts'
import { secretBreaches } from './secrets.ts'
import { listed, type Source } from './tree.ts'

const file = (path: string, ...lines: string[]): Source => ({ path, text: lines.join('\n') })

const strays: [library: string, path: string][] = [
  ['kafkajs', 'engine/mirror/unit.ts'],
  ['kafkajs/src/network/connection.js', 'engine/adapters/kafka/link.ts'],
  ['@node-rs/crc32', 'engine/batch/check.ts'],
  ['lz4-napi', 'cli/mirror.ts'],
  ['snappy', 'engine/adapters/local/files.ts'],
  ['node:net', 'cli/mirror.ts'],
  ['node:fs', 'engine/logs/tail.ts'],
  ['node:fs/promises', 'engine/mirror/unit.ts'],
  ['pino', 'engine/mirror/unit.ts'],
  ['prom-client', 'cli/main.ts'],
  ['yaml', 'cli/mirror.ts'],
  ['fastify', 'engine/process/server.ts'],
  ['commander', 'engine/process/config.ts'],
  ['zod', 'engine/mirror/unit.ts'],
  ['re2js', 'engine/mirror/unit.ts'],
  ['croner', 'engine/job/steer.ts'],
  ['node-zookeeper-client', 'engine/adapters/kafka/cluster.ts'],
  ['@aws-sdk/client-s3', 'functions/launcher/handler.ts'],
  ['left-pad', 'engine/mirror/unit.ts'],
]
for (const [library, path] of strays) {
  test(`${path} may not import ${library}`, () => {
    const found = libraryBreaches([file(path, '', `import { a } from '${library}'`)])
    assert.deepEqual(
      found.map(one => [one.path, one.line]),
      [[path, 2]],
    )
  })
}

const atHome: [library: string, path: string][] = [
  ['kafkajs', 'engine/adapters/kafka/login.ts'],
  ['kafkajs', 'rig/kafka.ts'],
  ['lz4-napi', 'test/live/mirror.test.ts'],
  ['node:tls', 'engine/adapters/kafka/login.ts'],
  ['node:crypto', 'engine/mirror/flowName.ts'],
  ['node:fs', 'cli/run.ts'],
  ['pino', 'engine/process/logger.ts'],
  ['zod', 'engine/mirror/spec.ts'],
  ['re2js', 'engine/flow/selection.ts'],
  ['croner', 'engine/job/decide/due.ts'],
  ['commander', 'cli/main.ts'],
]
for (const [library, path] of atHome) {
  test(`${path} may import ${library}`, () => {
    assert.equal(listed(libraryBreaches([file(path, `import { a } from '${library}'`)])), '')
  })
}

const impure = [
  'const now = Date.now()',
  'const now = new Date()',
  'const now = new Date',
  'const now = performance.now()',
  'setTimeout(done, 5)',
  'const signal = AbortSignal.timeout(5)',
  'const roll = Math.random()',
  'const id = crypto.randomUUID()',
  "const home = process.env['HOME']",
  'const here = import.meta.url',
  'const answer = await fetch(url)',
  'console.log(answer)',
  "import { readFileSync } from 'node:fs'",
  "import { createHash } from 'node:crypto'",
  `const late = \`now ${'$'}{Date.now()}\``,
]
for (const line of impure) {
  for (const path of ['engine/batch/walk.ts', 'engine/flow/position.ts', 'engine/adapters/kafka/decide/planSend.ts']) {
    test(`${path} may not say ${line}`, () => {
      assert.deepEqual([...new Set(purityBreaches([file(path, '// why', line)]).map(one => one.line))], [2])
    })
  }
}

test('a feature gets clock, chance and environment handed in, but may hash', () => {
  const lines = ['Date.now()', 'Math.random()', 'process.exit(1)', "import { createHash } from 'node:crypto'"]
  const found = purityBreaches([file('engine/mirror/unit.ts', ...lines)])
  assert.deepEqual(found.map(one => one.line).sort(), [1, 2, 3])
})

test('pure code may speak of clocks in comments and strings, and use what it was handed', () => {
  const lines = [
    '// Date.now() would be wrong here; process.env too',
    "const text = 'Date.now() and process.exit()'",
    'const quote = /["\'`]/.test(text)',
    'const at = new Date(ms).toISOString()',
    'const now = clock.now() + view.performance.p99',
    "const half = total / 2 // setTimeout('x')",
    'const plan = planFetch(view)',
    "import { Buffer } from 'node:buffer'",
  ]
  assert.equal(listed(purityBreaches([file('engine/flow/window.ts', ...lines)])), '')
  assert.equal(listed(purityBreaches([file('engine/process/clock.ts', 'const now = Date.now()')])), '')
})

test('a cited rule must be defined by the design file of its letter', () => {
  const design = file('docs/design/MIRROR.md', '## 1. Rules', '- **M-1** Unit', '| B-1 catch-up | x |', 'see M-2')
  const cites = (rule: string) => citationBreaches([design, file('engine/mirror/unit.ts', '', `// ${rule}`)])
  for (const good of ['M-1', 'B-1', 'MIRROR §1', 'UTF-8 and SHA-256 and CRC-32C', 'A-1']) {
    assert.equal(listed(cites(good)), '', good)
  }
  // Made of two parts: this file is read by the rule too.
  for (const bad of [`M${'-'}2`, `M${'-'}11`, `K${'-'}1`, `MIRROR ${'§'}9`, `CLOUD ${'§'}1`]) {
    assert.deepEqual(
      cites(bad).map(one => [one.path, one.line]),
      [['engine/mirror/unit.ts', 2]],
      bad,
    )
  }
  assert.match(cites(`K${'-'}1`)[0]?.says ?? '', /CREDENTIALS\.md is not here/)
})

test('a code without a row, a row without a code and a second row are told', () => {
  const codes = file(
    'engine/errors.ts',
    'export const faultCodes = [',
    "  'not-found',",
    "  'unit-fenced',",
    '] as const',
  )
  const rows = (...names: string[]) => file('docs/errors.md', ...names.map(name => `| \`${name}\` | a | b | c |`))
  assert.equal(listed(errorCodeBreaches([codes, rows('not-found', 'unit-fenced')])), '')
  assert.equal(
    listed(errorCodeBreaches([codes, rows('not-found', 'lost', 'not-found')])),
    [
      'engine/errors.ts:3  unit-fenced has no row in docs/errors.md',
      'docs/errors.md:2  lost is no code of engine/errors.ts',
      'docs/errors.md:3  not-found has a row already',
    ].join('\n'),
  )
})

test('an export that no other file names is told, one in a comment alone too', () => {
  const one = file('engine/a.ts', 'export const used = 1', 'export function unused() {}', 'export type Shape = 1')
  const two = file('engine/b.ts', "import { used } from './a.ts'", '// unused')
  assert.equal(listed(exportBreaches([one, two])), 'engine/a.ts:2  unused is exported, and nobody imports it')
})

test('a file named after no idea, and a path of one machine, are told', () => {
  assert.equal(
    nameBreaches([file('engine/batch/utils.ts'), file('test/common/a.ts'), file('engine/batch/walk.ts')]).length,
    2,
  )
  const path = ['', 'work', 'main'].join('/')
  assert.equal(
    listed(machinePathBreaches([file('a.md', '', `see ${path}`)])),
    `a.md:2  names a path of one machine: /${'work'}`,
  )
  assert.equal(listed(machinePathBreaches([file('a.md', 'https://x.org/work/a, how/work is, $' + '{x}/work')])), '')
})

test('a secret is revealed by an adapter, and by nobody else', () => {
  const told = (path: string, line: string) => secretBreaches([file(path, line)]).length
  assert.equal(told('engine/adapters/kafka/login.ts', 'const text = password.reveal()'), 0)
  for (const path of ['cli/run.ts', 'engine/credentials/current.ts', 'engine/process/logger.ts']) {
    assert.equal(told(path, 'const text = password.reveal()'), 1)
    assert.equal(told(path, 'const { reveal } = password'), 1)
    assert.equal(told(path, '// we never call reveal'), 0)
  }
})
