import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isPaused } from '../../engine/flow/overlay.ts'
import { mirrorSpec } from '../../engine/mirror/spec.ts'
import { type Config, readConfig } from '../../engine/process/config.ts'
import { explainConfig } from '../../engine/process/configExplain.ts'
import '../properties.ts'

const kinds = { mirror: mirrorSpec }

function read(text: string): Config {
  const result = readConfig(text, kinds)
  assert.deepEqual(result.ok ? [] : result.faults, [])
  assert.ok(result.ok)
  return result.config
}

/** `LINE:COLUMN path: found …, expected …` and the hint, as people see them. */
function faults(text: string): string[] {
  const result = readConfig(text, kinds)
  return result.ok
    ? []
    : result.faults.map(({ line, column, path, found, expected, rule, hint }) => {
        const more = `${rule === undefined ? '' : ` (${rule})`}${hint === null ? '' : ` | ${hint}`}`
        return `${line}:${column} ${path}: found ${found}, expected ${expected}${more}`
      })
}

const clusters = 'clusters:\n  east: { brokers: ["e:1"] }\n  west: { brokers: ["w:1"] }\nflows:\n'
/** `lines` from line 5 on, in a flow that is right without them. */
const flow = (...lines: string[]) =>
  `${clusters}  f:\n    kind: mirror\n    from: east\n    to: west\n${lines.map(line => `    ${line}\n`).join('')}`
const topics = 'topics: { include: [a] }'

test('the smallest flow has every default', () => {
  const config = read(flow(topics))
  assert.deepEqual(config.clusters.get('east'), {
    brokers: [{ host: 'e', port: 1 }],
    clientId: 'millrace',
    addresses: new Map(),
    security: { mechanism: 'none', secret: null, tls: null, loopbackOnly: false },
  })
  const found = config.flows.get('f')
  assert.equal(found?.kind, 'mirror')
  assert.deepEqual(found?.overlay, { paused: new Map(), skips: new Map(), topics: new Map() })
  assert.deepEqual(found?.spec, {
    from: 'east',
    to: 'west',
    topics: { include: ['a'], exclude: [], names: [], refreshMs: 10_000 },
    naming: 'identity',
    loopGuard: 'topic',
    delivery: 'at-least-once',
    isolation: 'read_committed',
    start: 'earliest',
    gaps: 'continue',
    destination: {
      create: true,
      replicationFactor: -1,
      config: {
        sync: true,
        override: {},
        exclude: [
          '(follower|leader)\\.replication\\.throttled\\.replicas',
          'message\\.timestamp\\..*',
          'unclean\\.leader\\.election\\.enable',
          'min\\.insync\\.replicas',
          'remote\\..*',
          'local\\.retention\\..*',
          'confluent\\..*',
        ],
      },
    },
    compression: 'keep',
    checkpoint: { intervalMs: 1000 },
    fetch: { rack: null },
  })
})

test('every field can be set, settings of topics also as numbers, and addresses are read', () => {
  const config = read(
    flow(
      'topics: { names: [a.b], refreshMs: 1000 }',
      'naming: { rename: [{ match: "a(.*)", to: "b$1" }] }',
      'start: { timeMs: 5 }',
      'destination: { replicationFactor: 3, config: { override: { retention.ms: 86400000, a: true, b: "x" } } }',
      'fetch: { rack: r1 }',
    ).replace('["e:1"]', '["[::1]:9092"], addresses: { "[::2]:1": "h:2" }, clientId: me'),
  )
  const spec = mirrorSpec.parse(config.flows.get('f')?.spec)
  assert.deepEqual(spec.naming, { rename: [{ match: 'a(.*)', to: 'b$1' }] })
  assert.deepEqual(spec.start, { timeMs: 5 })
  assert.deepEqual(spec.destination.config.override, { 'retention.ms': '86400000', a: 'true', b: 'x' })
  assert.equal(spec.fetch.rack, 'r1')
  assert.deepEqual(config.clusters.get('east'), {
    brokers: [{ host: '::1', port: 9092 }],
    clientId: 'me',
    addresses: new Map([['::2:1', { host: 'h', port: 2 }]]),
    security: { mechanism: 'none', secret: null, tls: null, loopbackOnly: false },
  })
})

test('paused and skips become the overlay, not the spec', () => {
  const overlayOf = (line: string) => read(flow(topics, line)).flows.get('f')?.overlay
  assert.equal(overlayOf('paused: true')?.paused, '*')
  assert.equal(overlayOf('paused: { "*": "*" }')?.paused, '*')
  assert.deepEqual(overlayOf('paused: false')?.paused, new Map())
  const some = overlayOf('paused: { a: true, b: "*", c: "0-2, 7", d: 5 }')
  assert.ok(some)
  const paused = ['a/9', 'b/9', 'c/0', 'c/2', 'c/3', 'c/7', 'd/5', 'd/0', 'e/0'].filter(unit => {
    const [topic = '', partition] = unit.split('/')
    return isPaused(some, topic, Number(partition))
  })
  assert.deepEqual(paused, ['a/9', 'b/9', 'c/0', 'c/2', 'c/7', 'd/5'])
  const skips = overlayOf('skips: { a: { 1: [50, 1], 02: ["9007199254740993", 3] } }')?.skips
  assert.deepEqual(
    skips,
    new Map([
      ['a/1', { offset: 50n, records: 1 }],
      ['a/2', { offset: 9007199254740993n, records: 3 }],
    ]),
  )
  const spec = read(flow(topics, 'paused: true', 'skips: {}')).flows.get('f')?.spec
  assert.deepEqual(spec, read(flow(topics)).flows.get('f')?.spec)
})

test('anchors, aliases and merge keys are followed, and what a mapping says itself comes first', () => {
  const config = read(
    `${flow('<<: &more { topics: { include: [x] }, gaps: stop }', 'gaps: continue')}  g:\n    <<: *more\n    kind: mirror\n    from: west\n    to: east\n`,
  )
  const of = (name: string) => mirrorSpec.parse(config.flows.get(name)?.spec)
  assert.deepEqual([of('f').gaps, of('g').gaps, of('g').topics.include], ['continue', 'stop', ['x']])
})

test('coordination and a file without flows are warned of', () => {
  const result = readConfig('coordination: { zookeeper: "x:1/m" }\nclusters: {}\n', kinds)
  assert.ok(result.ok)
  assert.deepEqual(
    result.warnings.map(({ line, path }) => [line, path]),
    [
      [1, 'coordination'],
      [1, 'flows'],
    ],
  )
})

const kindList = 'kind, paused, skips, requires, from, to, topics, naming, loopGuard, delivery, isolation, start, gaps'
const table: [what: string, text: string, faults: string[]][] = [
  ['an empty file', '# nothing\n', ['1:1 : found nothing, expected a mapping with clusters and flows']],
  ['a list', '- a\n', ['1:1 : found a list, expected a mapping with clusters and flows']],
  ['text', 'hello\n', ["1:1 : found 'hello', expected a mapping with clusters and flows"]],
  [
    'broken YAML',
    'clusters: {\n  east: [\n',
    [
      '3:1 : found what is no YAML, expected YAML | Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
  ],
  [
    'a wrong indentation, once, and nothing that the library only guesses behind it',
    flow(topics, 'gaps: stop', 'gaps: stop').replace('    to: west', '   to: west'),
    ['8:1 : found what is no YAML, expected YAML | All mapping items must start at the same column'],
  ],
  [
    'two documents',
    'clusters: {}\n---\nclusters: {}\n',
    ['2:1 : found what is no YAML, expected YAML | a second document, and a configuration is one'],
  ],
  [
    'a key twice',
    'clusters:\n  a: { brokers: ["a:1"] }\n  a: { brokers: ["b:1"] }\n',
    ["3:3 clusters.a: found 'a' again, expected each key once | first on line 2"],
  ],
  [
    'an alias of nothing, and one of what it stands in',
    'clusters:\n  a: *b\n  c: &c { brokers: ["a:1"], addresses: { "a:1": *c } }\n',
    [
      '2:6 clusters.a: found *b, expected an anchor before it | text that begins with * stands in quotes',
      '2:6 clusters.a: found nothing, expected a mapping with brokers',
      '3:49 clusters.c.addresses["a:1"]: found *c, expected an anchor that does not hold it | text that begins with * stands in quotes',
      '3:49 clusters.c.addresses["a:1"]: found nothing, expected HOST:PORT',
    ],
  ],
  [
    'keys that are not known',
    'cluster: {}\nclusters: {}\nstore: s3://x\n',
    [
      "1:1 cluster: found 'cluster', expected clusters, flows, coordination, worker, api or store | did you mean clusters?",
      "3:8 store: found 's3://x', expected file:///PATH | not in this version",
    ],
  ],
  ['no clusters', 'flows: {}\n', ['1:1 clusters: found nothing, expected a mapping of clusters']],
  [
    'brokers at fault',
    'clusters:\n  a: { brokers: [a, "kafka://u:p@h:1", 7, "::1:1"] }\n  b: { brokers: "b:1", security: {} }\n  c: {}\n',
    [
      '2:18 clusters.a.brokers[0]: found \'a\', expected HOST:PORT | as in: "east1:9092"',
      "2:21 clusters.a.brokers[1]: found 'kafka://…@h:1', expected HOST:PORT | without the scheme",
      "2:40 clusters.a.brokers[2]: found 7, expected HOST:PORT | in quotes it is text: '7'",
      "2:43 clusters.a.brokers[3]: found '::1:1', expected HOST:PORT | an IPv6 address stands in brackets: [::1]:9092",
      "3:17 clusters.b.brokers: found 'b:1', expected a list of HOST:PORT",
      '4:3 clusters.c.brokers: found nothing, expected a list of HOST:PORT',
    ],
  ],
  [
    'names and kinds of flows',
    `${clusters}  -A: { kind: job }\n  b: { kind: miror, from: esat }\n  c: 5\n  d: {}\n`,
    [
      "5:3 flows.-A: found '-A', expected small letters, digits and dashes, 63 at most, not a dash first",
      "5:15 flows.-A.kind: found 'job', expected mirror | not in this version",
      '6:3 flows.b.to: found nothing, expected the name of a cluster',
      '6:3 flows.b.topics: found nothing, expected a mapping with include or names',
      "6:14 flows.b.kind: found 'miror', expected mirror | did you mean mirror?",
      "6:27 flows.b.from: found 'esat', expected east or west | did you mean east?",
      '7:6 flows.c: found 5, expected a mapping with kind',
      '8:3 flows.d.kind: found nothing, expected mirror',
    ],
  ],
  [
    'patterns and names of topics',
    flow('topics: { include: ["a(?=b)", "a("], exclude: [7], names: ["a*", __consumer_offsets] }'),
    [
      "9:25 flows.f.topics.include[0]: found 'a(?=b)', expected an RE2 pattern (M-10) | invalid or unsupported Perl syntax at position 2; lookahead and lookbehind are not in RE2",
      "9:35 flows.f.topics.include[1]: found 'a(', expected an RE2 pattern (M-10) | missing closing ) at position 2; the syntax is that of RE2, and the pattern must match the whole name",
      "9:52 flows.f.topics.exclude[0]: found 7, expected an RE2 pattern | in quotes it is text: '7'",
      "9:64 flows.f.topics.names[0]: found 'a*', expected the name of a topic: 1 to 249 of A-Z a-z 0-9 . _ - (M-20) | a pattern belongs in topics.include",
      "9:70 flows.f.topics.names[1]: found '__consumer_offsets', expected a topic that may be copied (M-11) | it is reserved, also when named",
    ],
  ],
  [
    'no topic, and a number out of its range',
    flow('topics: { exclude: [a], refreshMs: 5 }', 'checkpoint: { intervalMs: 60001 }'),
    [
      '9:13 flows.f.topics: found a mapping, expected topics.include or topics.names (M-10) | as in: include: ["clicks\\\\..*"]',
      '9:40 flows.f.topics.refreshMs: found 5, expected a whole number from 1000 to 600000',
      '10:31 flows.f.checkpoint.intervalMs: found 60001, expected a whole number from 100 to 60000',
    ],
  ],
  [
    'namings',
    flow(topics, 'naming: { rename: [{ match: "(", to: x }, { match: "(a)", to: "b$2" }] }'),
    [
      "10:33 flows.f.naming.rename[0].match: found '(', expected an RE2 pattern (M-20) | missing closing ) at position 1; the syntax is that of RE2, and the pattern must match the whole name",
      "10:67 flows.f.naming.rename[1].to: found 'b$2', expected a name with $1 to $9 for groups of match (M-20) | 'b$2' has '$2' at position 2, and the pattern has 1 groups; $1 to $9 stand for the groups of the pattern",
    ],
  ],
  [
    'a naming of two forms, and one cluster with no new names',
    flow(topics, 'naming: { prefix: a., rename: [{ match: a, to: b }] }') +
      '  g: { kind: mirror, from: east, to: east, topics: { include: [a] } }\n',
    [
      '10:13 flows.f.naming: found a mapping, expected identity, {prefix: TEXT} or {rename: [{match: PATTERN, to: NAME}]} (M-20)',
      "11:38 flows.g.to: found 'east', expected another cluster, or a naming (M-21) | in one cluster every name must change",
    ],
  ],
  [
    'what is not in this version',
    flow(topics, 'delivery: exactly-once', 'throttle: { bytesPerSecond: 1 }', 'start: { timeMs: 1, after: x }'),
    [
      "10:15 flows.f.delivery: found 'exactly-once', expected at-least-once | not in this version",
      "11:5 flows.f.throttle: found 'throttle', expected no such key | not in this version",
      "12:25 flows.f.start.after: found 'after', expected no such key | not in this version",
    ],
  ],
  [
    'words that are nearly right, and nothing where something must stand',
    flow(topics, 'compression: gzipp', 'gaps:', 'isolaton: x'),
    [
      "10:18 flows.f.compression: found 'gzipp', expected keep, none, gzip, snappy, lz4 or zstd | did you mean gzip?",
      '11:10 flows.f.gaps: found nothing, expected continue or stop',
      `12:5 flows.f.isolaton: found 'isolaton', expected ${kindList}, destination, compression, checkpoint or fetch | did you mean isolation?`,
    ],
  ],
  [
    'an overlay at fault',
    flow(topics, 'paused: { a: "9-3", "*": "3" }', 'skips: { a: { x: [1, 1], 1: [1] } }'),
    [
      '10:18 flows.f.paused.a: found \'9-3\', expected true, "*" or partitions such as "0-3,7" (C-38)',
      '10:30 flows.f.paused["*"]: found \'3\', expected "*": all of the flow (C-38)',
      "11:19 flows.f.skips.a.x: found 'x', expected the number of a partition",
      '11:33 flows.f.skips.a.1: found a list, expected [offset, records], such as [50, 1]',
    ],
  ],
]
for (const [what, text, expected] of table) {
  test(`all faults of a file are said with their places: ${what}`, () => assert.deepEqual(faults(text), expected))
}

test('the value of a key that looks like a secret is in no fault and in no explanation', () => {
  const secret = 'hunter2'
  const bad = [
    flow(topics, `destination: { config: { override: { my.password: [${secret}] } } }`),
    flow(topics, `password: ${secret}`),
    flow(topics, `destination: { config: { override: { password: *${secret} } } }`),
    flow(topics, `destination: { config: { override: { password: !${secret} x } } }`),
    flow(topics, `destination: { config: { override: { password: "\\q${secret}" } } }`),
    flow(topics, `password: a ${secret}: b`),
    clusters.replace('["e:1"]', `["e:1"], addresses: { "secret:1": ${secret} }`),
    clusters.replace('"e:1"', `"sasl://me:${secret}@e:1"`),
  ]
  for (const text of bad) {
    assert.notDeepEqual(faults(text), [])
    assert.doesNotMatch(faults(text).join('\n'), /hunter2/)
  }
  const good = flow(topics, `destination: { config: { override: { my.password: ${secret} } } }`)
  const explained = explainConfig(good, kinds, null)
  assert.ok(explained.ok)
  assert.doesNotMatch(JSON.stringify(explained), /hunter2/)
})

test('an explanation names the line of each value or says that it is a default, and is a configuration itself', () => {
  const text = flow(topics, 'paused: { a: 1 }', 'start: { timeMs: 5 }', 'naming: { prefix: "x." }')
  const explained = explainConfig(text, kinds, null)
  assert.ok(explained.ok)
  const lineOf = new Map(explained.values.map(({ path, line }) => [path, line]))
  assert.deepEqual(
    ['flows.f.topics.include[0]', 'flows.f.start.timeMs', 'flows.f.gaps', 'flows.f.topics.exclude'].map(path =>
      lineOf.get(path),
    ),
    [9, 11, null, null],
  )
  assert.match(explained.yaml, /^ {6}exclude: \[\] # default$/m)
  assert.match(explained.yaml, /^ {4}from: east # line 7$/m)
  assert.deepEqual(read(explained.yaml), read(text))
  const one = explainConfig(text, kinds, 'f')
  assert.ok(one.ok && one.values.every(({ path }) => path.startsWith('flows.f.')))
})

test('a text that is deep, wide or repeats itself is read or refused', () => {
  for (const text of ['[', '- ', '{a: ', '? ', '{{', '- ? ', '!a ', '&a [', '*a ', '"', 'a: |\n']) {
    readConfig(text.repeat(5_000), kinds)
  }
  const many = Array.from({ length: 150_000 }, (_, at) => `${at.toString(36)}:\n`).join('')
  assert.equal(faults(many).length, 150_001)
  const laughs = Array.from({ length: 30 }, (_, at) => `a${at}: &a${at} [*a${at - 1}, *a${at - 1}]\n`).join('')
  assert.equal(faults(laughs.replaceAll('*a-1', 'x')).length, 31)
})

const pieces = fc.constantFrom(
  ...['clusters:', 'flows:', 'kind: mirror', 'from: east', 'topics:', 'include:', '- ', '{', '}', '[', ']', ': ', ','],
  ...[
    '\n',
    '\n  ',
    '\n    ',
    '&a ',
    '*a',
    '<<: ',
    '? ',
    '!!set ',
    '!x ',
    '"',
    "'",
    '|',
    '>',
    '#',
    '---',
    '...',
    '%YAML 1.1',
  ],
  ...['__proto__', 'constructor', 'null', '~', '1e999', '.nan', '0x10', '\t', '\r', '\0', '\uFEFF', '\ud800', 'east: '],
)
test('no text makes reading or explaining throw, and every fault has a place in it', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.array(pieces, { maxLength: 40 }).map(all => all.join('')),
    fc.json({ maxDepth: 4 }),
    fc.tuple(fc.nat(400), fc.nat(30), fc.array(pieces, { maxLength: 3 })).map(([at, out, put]) => {
      const text = flow(topics, 'paused: { a: "1-2" }', 'naming: { rename: [{ match: a, to: b }] }')
      return text.slice(0, at % text.length) + put.join('') + text.slice((at % text.length) + out)
    }),
  )
  fc.assert(
    fc.property(texts, text => {
      const result = readConfig(text, kinds)
      explainConfig(text, kinds, null)
      if (result.ok) return
      assert.ok(result.faults.length > 0)
      for (const { line, column, found, expected } of result.faults) {
        assert.ok(line >= 1 && line <= text.split('\n').length + 1 && column >= 1)
        assert.ok(found !== '' && expected !== '')
      }
    }),
    { numRuns: 2_000 },
  )
})
