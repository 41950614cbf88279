import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mirrorSpec } from '../../engine/mirror/spec.ts'
import { type Reading, readConfig } from '../../engine/process/config.ts'
import { explainConfig } from '../../engine/process/configExplain.ts'

const schemas = { mirror: mirrorSpec }
/** `lines` from line 2 on, in a file that is right without them. */
const file = (...lines: string[]) =>
  `clusters: { e: { brokers: ["e:1"] }, w: { brokers: ["w:1"] } }\n${lines.join('\n')}\n`
const flow = (more = '') => `flows: { f: { kind: mirror, from: e, to: w, topics: { names: [a] }${more} } }`

function read(...lines: string[]) {
  const result = readConfig(file(...lines), schemas)
  assert.deepEqual(result.ok ? [] : result.faults, [])
  assert.ok(result.ok)
  return result.config
}

function warnings(reading: Reading, ...lines: string[]): string[] {
  const result = readConfig(file(...lines), schemas, reading)
  assert.ok(result.ok)
  return result.warnings.map(({ line, path, hint }) => `${line} ${path}: ${hint}`)
}

function faults(...lines: string[]): string[] {
  const result = readConfig(file(...lines), schemas)
  return result.ok
    ? []
    : result.faults.map(({ line, column, path, found, expected, rule, hint }) => {
        const more = `${rule === undefined ? '' : ` (${rule})`}${hint === null ? '' : ` | ${hint}`}`
        return `${line}:${column} ${path}: found ${found}, expected ${expected}${more}`
      })
}

test('what a file does not say is null, and a worker has its defaults', () => {
  const { coordination, worker, api, store } = read(flow())
  assert.deepEqual(
    { coordination, worker, api, store },
    {
      coordination: null,
      worker: { capacity: 1_000, tags: [], unitsMax: 20_000, memoryBytesMax: 48 * 1024 * 1024 },
      api: null,
      store: null,
    },
  )
})

test('the blocks of a fleet are read, each with its defaults', () => {
  const config = read(
    'coordination: { zookeeper: "zk1:2181,10.0.0.2:2182/prod/millrace" }',
    'worker: { capacity: 2000, tags: [gpu, "zone=rack-3"], unitsMax: 10, memoryBytesMax: 33554432 }',
    'api: {}',
    'store: file:///var/lib/millrace/',
    flow(),
  )
  assert.deepEqual(config.coordination, {
    zookeeper: 'zk1:2181,10.0.0.2:2182/prod/millrace',
    sessionMs: 10_000,
    startTimeoutSeconds: 120,
    auth: null,
  })
  assert.deepEqual(config.worker, {
    capacity: 2_000,
    tags: ['gpu', 'zone=rack-3'],
    unitsMax: 10,
    memoryBytesMax: 32 * 1024 * 1024,
  })
  assert.deepEqual(config.api, { listen: { host: '127.0.0.1', port: 8080 }, tokens: null })
  assert.deepEqual(config.store, { kind: 'file', path: '/var/lib/millrace' })
})

test('secrets of coordination and API are named as those of clusters are', () => {
  const { coordination, api } = read(
    'coordination: { zookeeper: "zk:2181/m", sessionMs: 4000, auth: { file: zk.json } }',
    'api: { listen: "0.0.0.0:0", tokens: { env: API_TOKENS } }',
    flow(),
  )
  assert.deepEqual([coordination?.auth, coordination?.sessionMs], [{ file: 'zk.json' }, 4_000])
  assert.deepEqual(api, { listen: { host: '0.0.0.0', port: 0 }, tokens: { env: 'API_TOKENS' } })
})

test('this machine alone may be listened on without tokens, by any of its names', () => {
  for (const listen of ['localhost:80', '127.8.8.8:0', '[::1]:8080']) read(`api: { listen: "${listen}" }`, flow())
  const hint = 'whoever reaches it could change every flow: add tokens: {file: PATH}, or listen on 127.0.0.1:8080'
  const expected = 'an address of this machine alone, or tokens beside it'
  for (const listen of ['0.0.0.0:8080', '[::]:8080', 'box.example:80', '10.0.0.1:80']) {
    const found = faults(`api: { listen: "${listen}" }`, flow())
    assert.deepEqual(found, [`2:16 api.listen: found '${listen}', expected ${expected} | ${hint}`])
  }
})

const example = 'as in: zk1:2181,zk2:2181,zk3:2181/millrace'
const form = 'HOST:PORT,HOST:PORT/PATH'
const ipv6 = 'the library reads no IPv6 address: give the server a name, or go through a local TLS tunnel'
const slashes = 'letters, digits and . _ - between single slashes, none at the end'
const zookeepers: [text: string, expected: string][] = [
  ['zk:2181', `a path behind the servers (C-30) | what a fleet writes is below a path of its own, ${example}`],
  ['zk:2181/', `a path behind the servers (C-30) | what a fleet writes is below a path of its own, ${example}`],
  ['zk:2181/zookeeper/x', "another path than /zookeeper (C-30) | that one is the server's own"],
  ['zk:2181/a//b', `a path such as /millrace (C-30) | ${slashes}`],
  ['zk:2181/a/', `a path such as /millrace (C-30) | ${slashes}`],
  ['zk:2181/../a', `a path such as /millrace (C-30) | ${slashes}`],
  ['[::1]:2181/m', `names or IPv4 addresses (C-81) | ${ipv6}`],
  ['::1:2181/m', `names or IPv4 addresses (C-81) | ${ipv6}`],
  ['zk/m', `${form} | ${example}`],
  ['zk:0/m', `${form} | ${example}`],
  ['zk:2181,/m', `${form} | ${example}`],
  ['z k:2181/m', `${form} | ${example}`],
  ['zk://zk:2181/m', `${form} | without the scheme, ${example}`],
]
for (const [text, expected] of zookeepers) {
  test(`coordination.zookeeper '${text}' is refused with what would be right`, () => {
    const found = faults(`coordination: { zookeeper: "${text}" }`, flow())
    assert.deepEqual(found, [`2:28 coordination.zookeeper: found '${text}', expected ${expected}`])
  })
}

const none = 'not in this version'
const table: [what: string, lines: string[], expected: string[]][] = [
  [
    'a session that is too short or too long, with both limits',
    ['coordination: { zookeeper: "zk:1/m", sessionMs: 3999 }'],
    ['2:49 coordination.sessionMs: found 3999, expected a whole number from 4000 to 60000 (C-4)'],
  ],
  ['nothing', ['coordination:'], ['2:14 coordination: found nothing, expected a mapping with zookeeper']],
  [
    'words that are nearly right',
    ['coordination: { zookeper: "zk:1/m" }', 'worker: { capazity: 1 }', 'api: { lisen: "localhost:1" }'],
    [
      `2:1 coordination.zookeeper: found nothing, expected ${form}`,
      "2:17 coordination.zookeper: found 'zookeper', expected zookeeper, sessionMs, startTimeoutSeconds or auth | did you mean zookeeper?",
      "3:11 worker.capazity: found 'capazity', expected capacity, tags, unitsMax or memoryBytesMax | did you mean capacity?",
      "4:8 api.lisen: found 'lisen', expected listen or tokens | did you mean listen?",
    ],
  ],
  [
    'secrets in no place, in two, in a store, and written down',
    ['coordination: { zookeeper: "zk:1/m", auth: { file: a, env: B } }', 'api: { listen: "0.0.0.0:1", tokens: {} }'],
    [
      '2:44 coordination.auth: found a mapping, expected {file: PATH} or {env: NAME} | a secret is in one place',
      '3:37 api.tokens: found a hidden value, expected {file: PATH} or {env: NAME} | it names where the secret is',
    ],
  ],
  [
    'stores of secrets, and a value in place of a name',
    [
      'coordination: { zookeeper: "zk:1/m", auth: { secret: zk-digest } }',
      'api: { tokens: { env: "hunter2 hunter2" } }',
    ],
    [
      `2:46 coordination.auth.secret: found 'secret', expected no such key | ${none}`,
      '3:23 api.tokens.env: found a hidden value, expected the name of a variable | the value is in the variable, never in this file',
    ],
  ],
  [
    'a token where its place belongs',
    ['api: { tokens: hunter2 }'],
    ['2:16 api.tokens: found a hidden value, expected {file: PATH} or {env: NAME}'],
  ],
  [
    'numbers and tags of a worker',
    ['worker: { capacity: 0, unitsMax: 1.5, memoryBytesMax: 1000, tags: [gpu, "a b", 7] }'],
    [
      '2:21 worker.capacity: found 0, expected a whole number from 1 to 1000000',
      '2:34 worker.unitsMax: found 1.5, expected a whole number from 1 to 1000000',
      '2:55 worker.memoryBytesMax: found 1000, expected a whole number from 16777216 to 1099511627776',
      "2:73 worker.tags[1]: found 'a b', expected a tag: 1 to 64 of A-Z a-z 0-9 . _ : / = -, a letter or digit first",
      "2:80 worker.tags[2]: found 7, expected a tag: 1 to 64 of A-Z a-z 0-9 . _ : / = -, a letter or digit first | in quotes it is text: '7'",
    ],
  ],
  [
    'other stores',
    ['store: /var/lib/millrace'],
    ["2:8 store: found '/var/lib/millrace', expected file:///PATH | write file:///var/lib/millrace"],
  ],
]
for (const [what, lines, expected] of table) {
  test(`all faults of a fleet's words are said with their places: ${what}`, () =>
    assert.deepEqual(faults(...lines, flow()), expected))
}

test('what a flow requires is checked, stands beside its spec, and in what is declared of it', () => {
  const { flows } = read(flow(', requires: [gpu]'))
  const plain = read(flow()).flows.get('f')
  assert.deepEqual(flows.get('f')?.requires, ['gpu'])
  assert.deepEqual(flows.get('f')?.spec, plain?.spec)
  assert.deepEqual(flows.get('f')?.declared, { ...(plain?.spec as object), requires: ['gpu'] })
  assert.deepEqual([plain?.requires, plain?.declared], [[], plain?.spec])
  assert.deepEqual(faults(flow(', requires: gpu')), [
    "2:79 flows.f.requires: found 'gpu', expected a list of at most 50 tags",
  ])
})

test('C-96: in one process coordination is unused, and a flow that requires more than its tags is left out', () => {
  const lines = ['coordination: { zookeeper: "zk:1/m" }', 'worker: { tags: [ssd] }', flow(', requires: [gpu, ssd]')]
  const left = 'one process has the tags of worker.tags alone, without gpu: it leaves this flow out'
  assert.deepEqual(warnings({}, ...lines), [
    '2 coordination: unused: one process needs no coordination',
    `4 flows.f.requires: ${left}`,
  ])
  assert.deepEqual(warnings({ processes: 'several' }, ...lines), [])
})

test('a topic that a file cannot say is refused and not forgotten', () => {
  for (const key of ['paused: { __proto__: true }', 'skips: { __proto__: { 0: [1, 1] } }']) {
    assert.match(faults(flow(`, ${key}`)).join(), /__proto__: found '__proto__', expected another name/)
  }
})

test('an explanation has the blocks of a fleet with their origin, and is a configuration that says the same', () => {
  const lines = [
    'coordination: { zookeeper: "zk:1/m", auth: { file: zk.json } }',
    'api: { listen: "0.0.0.0:1", tokens: { file: tokens.json } }',
    'store: file:///s',
    flow(', requires: [gpu]'),
  ]
  const explained = explainConfig(file(...lines), schemas, null)
  assert.ok(explained.ok)
  const origin = new Map(explained.values.map(({ path, value, line }) => [path, [value, line]]))
  assert.deepEqual(origin.get('coordination.sessionMs'), [10_000, null])
  assert.deepEqual(origin.get('coordination.auth.file'), ['zk.json', 2])
  assert.deepEqual(origin.get('worker.capacity'), [1_000, null])
  assert.deepEqual(origin.get('api.tokens.file'), ['tokens.json', 3])
  assert.deepEqual(origin.get('store'), ['file:///s', 4])
  assert.deepEqual(origin.get('flows.f.requires[0]'), ['gpu', 5])
  const again = readConfig(explained.yaml, schemas)
  assert.ok(again.ok)
  assert.deepEqual(again.config, read(...lines))
})
