import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RE2JS } from 're2js'
import { aclsNeeded } from '../../../engine/mirror/decide/aclsNeeded.ts'
import { renamedResources, resourcesOf } from '../../../engine/mirror/decide/topicResources.ts'
import { mirrorSpec } from '../../../engine/mirror/spec.ts'

const shown = ({ name, pattern }: { name: string; pattern: string }) => (pattern === 'prefixed' ? `${name}…` : name)
const specOf = (more: Record<string, unknown> = {}) =>
  mirrorSpec.parse({ from: 'east', to: 'west', topics: { include: ['clicks\\..*'] }, ...more })
const linesOf = (more: Record<string, unknown> = {}) => {
  const { source, destination } = aclsNeeded(specOf(more), 'f')
  return [source, destination].map(acls => acls.map(acl => `${acl.on} ${shown(acl)}: ${acl.operations.join(' ')}`))
}

test('a pattern becomes the text that its matches begin with, one for each alternative, or every topic', () => {
  const table: [pattern: string, ...resources: string[]][] = [
    ['orders', 'orders'],
    ['^orders$', 'orders'],
    ['clicks\\..*', 'clicks.…'],
    ['clicks.*', 'clicks…'],
    ['a.b', 'a…'],
    ['clicks\\.(a|b)', 'clicks.…'],
    ['clicks\\.[a|b]|orders', 'clicks.…', 'orders'],
    ['a\\|b', 'a|b'],
    ['x[]|]y|z', 'x…', 'z'],
    ['orders?', 'order…'],
    ['ab*', 'a…'],
    ['ab{0,2}', 'a…'],
    ['ab+', 'ab…'],
    ['a?', '*'],
    ['.*', '*'],
    ['', ''],
    ['(?i)web-.*', '*'],
    ['\\Qa.b\\E', '*'],
    ['t\\d', 't…'],
    ['web-1_x', 'web-1_x'],
  ]
  for (const [pattern, ...expected] of table) assert.deepEqual(resourcesOf(pattern).map(shown), expected, pattern)
})

test('what a pattern matches is always held by its resources', () => {
  const names = [
    'a',
    'ab',
    'abb',
    'a.b',
    'axb',
    'b',
    'orders',
    'order',
    'x|y',
    'clicks.a',
    'A',
    'a|b',
    'x]y',
    'x|',
    'z',
  ]
  const patterns = [
    'ab*',
    'a.b',
    '(a|b)b?',
    'a|b',
    'x\\|y',
    '[a|b]',
    '(?i)a',
    'orders?',
    'a{1,2}b',
    '\\Qa|b\\E',
    'x[]|]y?|z',
  ]
  for (const pattern of patterns) {
    const resources = resourcesOf(pattern)
    for (const name of names.filter(name => RE2JS.compile(pattern).testExact(name))) {
      const isHeld = resources.some(one =>
        one.pattern === 'prefixed' ? name.startsWith(one.name) : one.name === '*' || one.name === name,
      )
      assert.ok(isHeld, `${pattern} matches ${name}`)
    }
  }
})

test('names and prefixes of the destination are those that naming gives', () => {
  const rules = { names: ['t', 'clicks.b'], include: ['clicks\\..*', 'a', '.*x'], exclude: [] }
  const few = { ...rules, include: ['clicks\\..*', 'a'] }
  const of = (naming: Parameters<typeof renamedResources>[1], from = few) => renamedResources(from, naming).map(shown)
  assert.deepEqual(of('identity'), ['t', 'clicks.…', 'a'])
  assert.deepEqual(of('identity', rules), ['*'])
  assert.deepEqual(of({ prefix: 'east.' }), ['east.t', 'east.clicks.…', 'east.a'])
  assert.deepEqual(of({ prefix: 'east.' }, rules), ['east.…'])
  assert.deepEqual(of({ rename: [{ match: 'clicks\\.(.*)', to: 'hits.$1' }] }), ['t', 'a', 'hits.…', 'clicks.…'])
  assert.deepEqual(of({ rename: [{ match: '(.*)', to: 'e.$1' }] }), ['e.…'])
  assert.deepEqual(of({ rename: [{ match: '(.*)', to: '$1' }] }), ['*'])
  assert.deepEqual(of({ rename: [{ match: 'other', to: 'o' }] }), ['t', 'a', 'clicks.…'])
})

test('M-27: each feature of a flow asks for its own rights and no others', () => {
  const guards = ['topic millrace.mirror.…: Read', 'group millrace.f: Read']
  const ours = 'topic millrace.mirror.f: Create Read Write'
  const without = (create: boolean, sync: boolean) => linesOf({ destination: { create, config: { sync } } })
  assert.deepEqual(linesOf(), [
    ['topic clicks.…: Read DescribeConfigs', ...guards],
    ['topic clicks.…: Write Create Alter AlterConfigs', ours],
  ])
  assert.deepEqual(without(true, false), [
    ['topic clicks.…: Read DescribeConfigs', ...guards],
    ['topic clicks.…: Write Create Alter DescribeConfigs', ours],
  ])
  assert.deepEqual(without(false, true), [
    ['topic clicks.…: Read DescribeConfigs', ...guards],
    ['topic clicks.…: Write AlterConfigs', ours],
  ])
  assert.deepEqual(without(false, false), [
    ['topic clicks.…: Read', ...guards],
    ['topic clicks.…: Write', ours],
  ])
  assert.deepEqual(linesOf({ loopGuard: 'off' }), [
    ['topic clicks.…: Read DescribeConfigs', 'group millrace.f: Read'],
    ['topic clicks.…: Write Create Alter AlterConfigs'],
  ])
  assert.deepEqual(linesOf({ topics: { include: ['.*'] } }), [
    ['topic *: Read DescribeConfigs', 'group millrace.f: Read'],
    ['topic *: Write Create Alter AlterConfigs', 'topic millrace.mirror.f: Read'],
  ])
})
