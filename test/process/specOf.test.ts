import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { z } from 'zod'
import { canonical, type Json } from '../../engine/fleet/decide/canonical.ts'
import { mirrorSpec } from '../../engine/mirror/spec.ts'
import { readConfig } from '../../engine/process/config.ts'
import { readSpec, specRefused } from '../../engine/process/specOf.ts'
import '../properties.ts'

/** One form of each option of a mirror at least; what is undefined is left out. */
const options: Record<string, fc.Arbitrary<unknown>> = {
  topics: fc.constantFrom(
    { include: ['clicks\\..*'], exclude: ['.*\\.tmp'], names: ['__proto__', 'a.b'], refreshMs: 5_000 },
    { names: ['10', '9'] },
    { include: ['.*'] },
  ),
  naming: fc.constantFrom(undefined, 'identity', { prefix: 'east.' }, { rename: [{ match: 'a(.*)', to: 'b$1' }] }),
  loopGuard: fc.constantFrom(undefined, 'topic', 'off'),
  delivery: fc.constantFrom(undefined, 'at-least-once'),
  isolation: fc.constantFrom(undefined, 'read_committed', 'read_uncommitted'),
  start: fc.constantFrom(undefined, 'earliest', 'latest', { timeMs: 1_700_000_000_000 }),
  gaps: fc.constantFrom(undefined, 'continue', 'stop'),
  destination: fc.constantFrom(
    undefined,
    {},
    {
      create: false,
      replicationFactor: 3,
      config: { sync: false, override: { 'retention.ms': 86_400_000, a: true, b: 1.5 }, exclude: ['x\\..*'] },
    },
  ),
  compression: fc.constantFrom(undefined, 'keep', 'none', 'gzip', 'snappy', 'lz4', 'zstd'),
  checkpoint: fc.constantFrom(undefined, {}, { intervalMs: 100 }),
  fetch: fc.constantFrom(undefined, {}, { rack: null }, { rack: 'r1' }),
  requires: fc.constantFrom(undefined, ['gpu'], ['zone=a', 'gpu']),
}

/** As a document is read: objects are Maps, whatever their names (C-121). */
function asMaps(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(asMaps)
  if (typeof json !== 'object' || json === null) return json
  return new Map(Object.entries(json).map(([name, value]) => [name, asMaps(value)]))
}

test('the options that are tried are all that a mirror has', () => {
  const shape = z.toJSONSchema(mirrorSpec, { io: 'input', unrepresentable: 'any' })
  const named = Object.entries(shape.properties ?? {}).filter(([, of]) => !(typeof of === 'object' && of.not))
  const tried = ['from', 'to', ...Object.keys(options)].filter(name => name !== 'requires')
  assert.deepEqual(named.map(([name]) => name).toSorted(), tried.toSorted())
})

test('what a flow of a file declares is read back from its document to the same spec, whatever its options', () => {
  const given = fc.record(options).map(words => ({ from: 'east', to: 'west', ...words }))
  fc.assert(
    fc.property(given, words => {
      const file = {
        clusters: { east: { brokers: ['e:1'] }, west: { brokers: ['w:1'] } },
        flows: { f: { kind: 'mirror', ...words } },
      }
      const read = readConfig(JSON.stringify(file), { mirror: mirrorSpec })
      assert.ok(read.ok, JSON.stringify(read))
      const flow = read.config.flows.get('f')
      assert.ok(flow)
      const text = canonical(flow.declared as Json)
      for (const json of [flow.declared, JSON.parse(text), asMaps(JSON.parse(text))]) {
        const again = readSpec(mirrorSpec, json)
        assert.ok(again.ok, JSON.stringify(again))
        assert.deepEqual([again.spec, again.requires], [flow.spec, flow.requires])
      }
    }),
  )
})

test('every fault of a spec is said as data, in the words of the file, with what may have been meant', () => {
  const spec = {
    from: 'esat',
    to: 'west',
    topics: { include: ['a('], refreshMs: 5 },
    gapps: 'stop',
    compression: 'gzipp',
    requires: [''],
    throttle: {},
  }
  const read = readSpec(mirrorSpec, spec, ['east', 'west'])
  assert.ok(!read.ok)
  const of = new Map(read.faults.map(({ path, ...fault }) => [path, fault]))
  assert.deepEqual([...of.keys()].toSorted(), [
    'compression',
    'from',
    'gapps',
    'requires[0]',
    'throttle',
    'topics.include[0]',
    'topics.refreshMs',
  ])
  assert.deepEqual(of.get('from'), { found: "'esat'", expected: 'east or west', hint: 'did you mean east?' })
  assert.equal(of.get('gapps')?.hint, 'did you mean gaps?')
  assert.match(String(of.get('gapps')?.expected), /requires/)
  assert.deepEqual(of.get('topics.refreshMs'), {
    found: '5',
    expected: 'a whole number from 1000 to 600000',
    hint: null,
  })
  assert.equal(of.get('topics.include[0]')?.expected, 'an RE2 pattern (M-10)')
  assert.equal(of.get('throttle')?.hint, 'not in this version')
})

test('what is no spec at all is refused, and a name that objects treat specially is a key that nobody knows', () => {
  for (const json of [null, 7, 'x', [], undefined]) {
    const read = readSpec(mirrorSpec, json)
    assert.deepEqual(read.ok ? [] : read.faults.map(({ path, expected }) => [path, expected]), [['', 'a mapping']])
  }
  const good = { from: 'a', to: 'b', topics: { names: ['x'] } }
  for (const name of ['__proto__', 'constructor', 'toString', 'kind', 'paused']) {
    const read = readSpec(mirrorSpec, new Map<string, unknown>([...Object.entries(good), [name, { polluted: true }]]))
    assert.deepEqual(read.ok ? [] : read.faults.map(({ path }) => path), [name])
  }
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
})

test('a spec that is refused is one error that names all its faults, with the hint of a single one', () => {
  const several = readSpec(mirrorSpec, { from: 'a', to: 'b' })
  const one = readSpec(mirrorSpec, { from: 'a', to: 'b', topics: { names: ['x'] }, gaps: 'stopp' })
  assert.ok(!several.ok && !one.ok)
  assert.deepEqual(
    { ...specRefused('mirror', one.faults), message: specRefused('mirror', one.faults).message },
    {
      name: 'MillraceError',
      code: 'config-invalid',
      retryable: false,
      hint: 'did you mean stop?',
      kafka: null,
      message: "spec of kind mirror: gaps: found 'stopp', expected continue or stop",
    },
  )
  assert.match(
    specRefused('mirror', [...several.faults, ...one.faults]).message,
    /^spec of kind mirror: topics: .*; gaps: .* \(did you mean stop\?\)$/,
  )
})
