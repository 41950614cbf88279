import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MillraceError } from '../../../engine/errors.ts'
import { selection } from '../../../engine/flow/select.ts'
import { destinationNames, namingOf } from '../../../engine/mirror/decide/destinationNames.ts'
import type { Naming } from '../../../engine/mirror/spec.ts'

/** `a=b` for what is named, `a!` for what is refused, in order of topics. */
function shown(topics: string, naming: Naming, existing = '', include: string[] | null = null): string {
  const again = include === null ? null : selection({ include, exclude: [], names: [] })
  const { names, refused } = destinationNames(words(topics), naming, new Set(words(existing)), again)
  return [...[...names].map(([topic, name]) => `${topic}=${name}`), ...[...refused.keys()].map(topic => `${topic}!`)]
    .sort()
    .join(' ')
}

const words = (text: string) => text.split(' ').filter(word => word !== '')
const rename = (...rules: [match: string, to: string][]): Naming => ({
  rename: rules.map(([match, to]) => ({ match, to })),
})
const refusal = (topics: string, naming: Naming, existing = '', topic = words(topics)[0] ?? '') =>
  destinationNames(words(topics), naming, new Set(words(existing))).refused.get(topic)

test('a name stays, gets a prefix, or is made by the first pattern that matches all of it', () => {
  assert.equal(shown('a b.c', 'identity'), 'a=a b.c=b.c')
  assert.equal(shown('a b.c', { prefix: 'east.' }), 'a=east.a b.c=east.b.c')
  const rules = rename(['east\\.(.*)', 'west.$1'], ['east\\.a', 'never'], ['b', 'c'])
  assert.equal(shown('east.a xeast.a bb b other', rules), 'b=c bb=bb east.a=west.a other=other xeast.a=xeast.a')
  assert.equal(shown('B', rename(['b', 'c'])), 'B=B')
  assert.equal(shown('a', rename()), 'a=a')
})

test('$1 to $9 are the groups; one that took no part is empty, and a digit behind one is a digit', () => {
  const nine = rename(['(.)(.)(.)(.)(.)(.)(.)(.)(.)', '$9$8$7$6$5$4$3$2$1'])
  assert.equal(namingOf(nine)('abcdefghi'), 'ihgfedcba')
  assert.equal(namingOf(rename(['(a)(b)?(c)', '$3$2$1']))('ac'), 'ca')
  assert.equal(namingOf(rename(['(a)', '$10']))('a'), 'a0')
  assert.equal(namingOf(rename(['(?P<name>a+)-(\\d+)', '$2-$1']))('aa-7'), '7-aa')
  assert.equal(namingOf(rename(['a|ab', 'x']))('ab'), 'x', 'the whole name, not the first alternative')
})

test('a naming that cannot be read is told with its place', () => {
  const fault = (naming: Naming): MillraceError => {
    try {
      destinationNames([], naming, new Set())
    } catch (error) {
      assert.ok(error instanceof MillraceError)
      assert.equal(error.code, 'config-invalid')
      return error
    }
    throw new Error('it was taken')
  }
  const lookahead = fault(rename(['fine', 'x'], ['a(?=b)', 'x']))
  assert.match(lookahead.message, /^naming\.rename\[1\]\.match: 'a\(\?=b\)' .* at position 2 \(M-20\)$/)
  assert.equal(lookahead.hint, 'lookahead and lookbehind are not in RE2')
  const said = /^naming\.rename\[0\]\.to: 'x\$2' has '\$2' at position 2, and the pattern has 1 groups \(M-20\)$/
  assert.match(fault(rename(['(a)', 'x$2'])).message, said)
  for (const to of ['$0', 'a$', '$$1', '$x']) assert.match(fault(rename(['(a)', to])).message, /at position [12],/, to)
  const many = Array.from({ length: 201 }, (): [string, string] => ['a', 'b'])
  assert.match(fault(rename(...many)).message, /201 patterns, at most 200/)
})

test('a name that Kafka would not take is refused', () => {
  assert.equal(shown('a', { prefix: 'x'.repeat(248) }), `a=${'x'.repeat(248)}a`)
  assert.equal(shown('a', { prefix: 'x'.repeat(249) }), 'a!')
  for (const to of ['a/b', 'a b', 'ä', '.', '..', '', 'a\n']) assert.equal(shown('t', rename(['t', to])), 't!', to)
  for (const to of ['...', '-', '_', 'A.b_c-9']) assert.equal(shown('t', rename(['t', to])), `t=${to}`)
  const said = refusal('t', rename(['t', 'a/b']))
  assert.equal(said?.message, "t: would be named 'a/b', which is no legal name of a topic (M-20)")
  assert.match(said?.hint ?? '', /1 to 249/)
})

test("Kafka's own three and our two are no destination, those of others are", () => {
  const reserved = ['__consumer_offsets', '__transaction_state', '__share_group_state']
  for (const to of [...reserved, 'millrace.mirror.f', 'millrace.offsets.f']) {
    assert.equal(refusal('t', rename(['t', to]))?.message, `t: would be named '${to}', which is reserved (M-11)`)
  }
  assert.equal(shown('__special', 'identity'), '__special=__special')
  assert.equal(shown('mirror.f', { prefix: 'millrace.' }), 'mirror.f!')
})

test('two sources of one name are both refused, each naming the other, wherever that name is', () => {
  const naming = rename(['t\\d', 'x'])
  assert.equal(shown('t1 t2 x1', naming), 't1! t2! x1=x1')
  assert.equal(shown('t1 x', naming, 'x'), 't1! x!')
  assert.equal(refusal('t1 t2', naming, '', 't1')?.message, "t1: would be named 'x', and so would t2 (M-20)")
  assert.equal(refusal('t1 t2', naming, '', 't2')?.message, "t2: would be named 'x', and so would t1 (M-20)")
  assert.match(refusal('t1 t2 t3 t4', naming, '', 't3')?.message ?? '', /and so would t1 and 2 more/)
  assert.equal(shown('a a', 'identity'), 'a=a', 'one topic told twice is no clash')
})

test('names that differ in . and _ only are refused when they would have to be created, and not those that are there', () => {
  assert.equal(shown('a.b a_b c', 'identity'), 'a.b! a_b! c=c')
  assert.equal(shown('a.b a_b', 'identity', 'a.b'), 'a.b=a.b a_b!')
  assert.equal(shown('a.b a_b', 'identity', 'a.b a_b'), 'a.b=a.b a_b=a_b')
  assert.equal(shown('a.b.c a_b.c a.b_c', 'identity', 'a.b.c a_b.c'), 'a.b.c=a.b.c a.b_c! a_b.c=a_b.c')
  assert.equal(shown('a-b a.b', 'identity'), 'a-b=a-b a.b=a.b')
  const said = refusal('a.b a_b', 'identity')
  assert.equal(said?.message, "a.b: would be named 'a.b' and a_b 'a_b': Kafka does not tell . and _ apart (M-20)")
})

test("a new name that clashes with a topic of somebody else's at the destination is refused", () => {
  assert.equal(shown('a.b', 'identity', 'a_b'), 'a.b!')
  assert.equal(shown('a.b', 'identity', 'a_b a.b'), 'a.b=a.b')
  assert.equal(shown('b', { prefix: 'a.' }, 'a_b'), 'b!')
  assert.match(refusal('a.b', 'identity', 'a_b')?.message ?? '', /the destination has 'a_b': Kafka does not/)
})

test('what a refused topic would be called is free for nobody', () => {
  const naming = rename(['b', 'a'])
  assert.equal(shown('a b', naming, '', ['a|b']), 'a! b!')
  assert.equal(shown('a b', naming), 'a! b!')
})

test('in one cluster each name must change, and no copy may be selected again', () => {
  assert.equal(shown('a b', 'identity', 'a b', ['a|b']), 'a! b!')
  assert.equal(shown('a b', { prefix: 'copy.' }, 'a b', ['a|b']), 'a=copy.a b=copy.b')
  assert.equal(shown('a.x b', { prefix: 'copy.' }, 'a.x b', ['.*\\.x', 'b']), 'a.x! b=copy.b')
  assert.equal(shown('a b', rename(['a', 'c']), 'a b', ['a|b']), 'a=c b!')
  const unchanged = destinationNames(['a'], 'identity', new Set(['a']), () => ({ selected: false, rule: 'none' }))
  const kept = 'a: source and destination are one cluster, and the name would not change (M-21)'
  assert.deepEqual(unchanged.refused.get('a'), { message: kept, hint: 'set naming, or exclude the topic' })
  const named = selection({ include: [], exclude: [], names: ['a', 'copy.a'] })
  const { refused } = destinationNames(['a'], { prefix: 'copy.' }, new Set(['a']), named)
  const message = "a: source and destination are one cluster, and the copy 'copy.a' would be copied again (M-21)"
  assert.deepEqual(refused.get('a'), { message, hint: "exclude 'copy.a'" })
})

test('50,000 topics of one name are judged', () => {
  const topics = Array.from({ length: 50_000 }, (_, at) => `t${at}`)
  assert.equal(destinationNames(topics, rename(['t.*', 'x']), new Set()).refused.size, 50_000)
})
