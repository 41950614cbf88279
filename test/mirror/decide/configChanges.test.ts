import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ConfigChanges,
  configChanges,
  creationConfigs,
  rewriteWarnings,
} from '../../../engine/mirror/decide/configChanges.ts'
import type { TopicConfig } from '../../../engine/ports/kafka.ts'

type Values = Record<string, string | null>
/** What is set on the topic, and what it has from its broker. */
const settings = (onTopic: Values, inherited: Values = {}): TopicConfig[] => [
  ...Object.entries(onTopic).map(([name, value]) => ({ name, value, isDefault: false, onTopic: true })),
  ...Object.entries(inherited).map(([name, value]) => ({ name, value, isDefault: true, onTopic: false })),
]
const rules = (more: { sync?: boolean; override?: Record<string, string>; exclude?: string[] } = {}) => ({
  sync: true,
  override: {},
  exclude: ['min\\.insync\\.replicas', 'remote\\..*'],
  ...more,
})

type Row = {
  says: string
  source: TopicConfig[]
  destination: TopicConfig[]
  remembered?: string[]
  config?: ReturnType<typeof rules>
  gives: ConfigChanges
}
const nothing = { set: {}, unset: [], remembered: [] }
const retention = (value: string) => settings({ 'retention.ms': value })
const inherits = settings({}, { 'retention.ms': '7' })

const table: Row[] = [
  {
    says: 'only what is set on the topic is taken over',
    source: settings({ 'retention.ms': '5' }, { 'segment.bytes': '9' }),
    destination: settings({}, { 'retention.ms': '7', 'segment.bytes': '1' }),
    gives: { set: { 'retention.ms': '5' }, unset: [], remembered: ['retention.ms'] },
  },
  {
    says: 'what is excluded is not, by the whole name',
    source: settings({ 'min.insync.replicas': '2', 'remote.x': '1', 'not.remote.x': '1' }),
    destination: [],
    gives: { set: { 'not.remote.x': '1' }, unset: [], remembered: ['not.remote.x'] },
  },
  { says: 'what is the same is not sent', source: retention('5'), destination: retention('5'), gives: nothing },
  {
    says: 'what we have set and is the same is not sent, and stays remembered',
    source: retention('5'),
    destination: retention('5'),
    remembered: ['retention.ms'],
    gives: { ...nothing, remembered: ['retention.ms'] },
  },
  {
    says: 'only what differs is sent',
    source: settings({ 'retention.ms': '5', 'segment.ms': '6' }),
    destination: settings({ 'retention.ms': '5', 'segment.ms': '7' }),
    gives: { set: { 'segment.ms': '6' }, unset: [], remembered: ['segment.ms'] },
  },
  {
    says: 'a value that the destination only inherits is set there',
    source: retention('7'),
    destination: inherits,
    gives: { set: { 'retention.ms': '7' }, unset: [], remembered: ['retention.ms'] },
  },
  {
    says: 'what we were about to set, and the destination only inherits, is set',
    source: retention('7'),
    destination: [{ name: 'retention.ms', value: '7', isDefault: false, onTopic: false }],
    remembered: ['retention.ms'],
    gives: { ...nothing, set: { 'retention.ms': '7' }, remembered: ['retention.ms'] },
  },
  { says: 'what is set at the destination alone is left', source: [], destination: retention('5'), gives: nothing },
  {
    says: 'what we set is unset when it is unset at the source',
    source: inherits,
    destination: settings({ 'retention.ms': '5', 'segment.ms': '1' }),
    remembered: ['retention.ms'],
    gives: { set: {}, unset: ['retention.ms'], remembered: [] },
  },
  {
    says: 'what somebody has unset there already is forgotten',
    source: inherits,
    destination: inherits,
    remembered: ['retention.ms'],
    gives: nothing,
  },
  {
    says: 'an override beats the source, also where it is excluded or not set at all',
    source: settings({ 'retention.ms': '5', 'min.insync.replicas': '2' }),
    destination: retention('5'),
    config: rules({ override: { 'retention.ms': '8', 'min.insync.replicas': '1', 'segment.ms': '3' } }),
    gives: {
      set: { 'retention.ms': '8', 'min.insync.replicas': '1', 'segment.ms': '3' },
      unset: [],
      remembered: ['min.insync.replicas', 'retention.ms', 'segment.ms'],
    },
  },
  {
    says: 'an override that is taken out is unset',
    source: [],
    destination: retention('8'),
    remembered: ['retention.ms'],
    gives: { set: {}, unset: ['retention.ms'], remembered: [] },
  },
  {
    says: 'what is excluded from now on is left and forgotten',
    source: [],
    destination: retention('5'),
    remembered: ['retention.ms'],
    config: rules({ exclude: ['retention\\..*'] }),
    gives: nothing,
  },
  {
    says: 'a value that is not told to us is neither sent nor unset',
    source: settings({ 'retention.ms': null, 'segment.ms': null }),
    destination: retention('5'),
    remembered: ['retention.ms'],
    gives: { ...nothing, remembered: ['retention.ms'] },
  },
  {
    says: 'without sync nothing is done and nothing forgotten',
    source: retention('5'),
    destination: retention('6'),
    remembered: ['segment.ms'],
    config: rules({ sync: false, override: { 'retention.ms': '8' } }),
    gives: { ...nothing, remembered: ['segment.ms'] },
  },
  {
    says: 'the batch limit that a topic was created with stays while the source has large batches',
    source: settings({}, { 'max.message.bytes': '2000000' }),
    destination: settings({ 'max.message.bytes': '3000000' }),
    remembered: ['max.message.bytes'],
    gives: { ...nothing, remembered: ['max.message.bytes'] },
  },
  {
    says: 'and goes when the source has none any more',
    source: settings({}, { 'max.message.bytes': '1048588' }),
    destination: settings({ 'max.message.bytes': '3000000' }),
    remembered: ['max.message.bytes'],
    gives: { set: {}, unset: ['max.message.bytes'], remembered: [] },
  },
]

for (const { says, source, destination, remembered = [], config = rules(), gives } of table) {
  test(`settings: ${says}`, () => {
    assert.deepEqual(configChanges({ source, destination, remembered, config }), gives)
  })
}

test('a round after its changes were made has nothing to do', () => {
  const config = rules({ override: { 'cleanup.policy': 'compact', 'segment.ms': '3' } })
  const source = settings({ 'retention.ms': '5', 'cleanup.policy': 'delete' })
  const first = configChanges({ source, destination: inherits, remembered: [], config })
  const second = configChanges({ source, destination: settings(first.set), remembered: first.remembered, config })
  assert.deepEqual(second, { ...nothing, remembered: first.remembered })
})

test('a value that the broker writes in another way is the same', () => {
  const same: [wanted: string, found: string][] = [
    ['delete, compact', 'delete,compact'],
    ['TRUE', 'true'],
    ['007', '7'],
    [' -1', '-1'],
    ['0.50', '0.5'],
    ['9223372036854775807', '9223372036854775807'],
  ]
  const other: [wanted: string, found: string][] = [
    ['9223372036854775807', '9223372036854775806'],
    ['compact,delete', 'compact'],
    ['GZIP', 'gzip'],
    ['0.5', '0.6'],
    ['', 'x'],
  ]
  const sent = ([wanted, found]: [string, string]) =>
    'x' in
    configChanges({
      source: [],
      destination: settings({ x: found }),
      remembered: [],
      config: rules({ override: { x: wanted } }),
    }).set
  for (const pair of same) assert.equal(sent(pair), false, pair.join(' and '))
  for (const pair of other) assert.equal(sent(pair), true, pair.join(' and '))
})

test('a pattern of exclude that is not RE2 is told with its place', () => {
  const config = rules({ exclude: ['a(?=b)'] })
  const message = /^destination\.config\.exclude: 'a\(\?=b\)' .* at position 2 \(M-25\)$/
  const expected = { code: 'config-invalid', message }
  assert.throws(() => configChanges({ source: retention('5'), destination: [], remembered: [], config }), expected)
  assert.throws(() => creationConfigs(retention('5'), config), expected)
})

test('a topic is created with what is set on the source topic, minus what is excluded, with what overrides', () => {
  const source = settings({ 'retention.ms': '5', 'min.insync.replicas': '2', secret: null }, { 'segment.ms': '9' })
  assert.deepEqual(creationConfigs(source, rules()), { 'retention.ms': '5' })
  assert.deepEqual(creationConfigs(source, rules({ sync: false })), { 'retention.ms': '5' })
  const override = { 'retention.ms': '8', 'min.insync.replicas': '1' }
  assert.deepEqual(creationConfigs(source, rules({ override })), override)
})

test('a topic is created with the batch limit of the source when that is above the default, set there or not', () => {
  const inherited = (value: string | null) => settings({}, { 'max.message.bytes': value })
  assert.deepEqual(creationConfigs(inherited('1048588'), rules()), {})
  assert.deepEqual(creationConfigs(inherited('1048589'), rules()), { 'max.message.bytes': '1048589' })
  assert.deepEqual(creationConfigs(inherited(null), rules()), {})
  assert.deepEqual(creationConfigs(settings({ 'max.message.bytes': '9' }), rules()), { 'max.message.bytes': '9' })
  const override = { 'max.message.bytes': '77' }
  assert.deepEqual(creationConfigs(inherited('1048589'), rules({ override })), override)
  assert.deepEqual(creationConfigs(inherited('1048589'), rules({ exclude: ['max\\..*'] })), {})
})

test('settings by which the destination would change bytes or times are named, as they take effect', () => {
  const rewrites = (compression: string | null, times: string) =>
    rewriteWarnings(settings({ 'compression.type': compression }, { 'message.timestamp.type': times }))
  assert.deepEqual(rewrites('producer', 'CreateTime'), [])
  assert.deepEqual(rewrites('gzip', 'CreateTime'), ['compression.type=gzip'])
  assert.deepEqual(rewrites('uncompressed', 'LogAppendTime'), [
    'compression.type=uncompressed',
    'message.timestamp.type=LogAppendTime',
  ])
  assert.deepEqual(rewrites(null, 'LogAppendTime'), ['message.timestamp.type=LogAppendTime'])
  assert.deepEqual(rewriteWarnings([]), [])
})
