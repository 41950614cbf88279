import '../../properties.ts'
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import fc from 'fast-check'
import {
  loopCheck,
  type Provenance,
  provenanceFrom,
  provenanceKey,
  provenanceText,
  sameProvenance,
  viaOf,
} from '../../../engine/mirror/decide/provenance.ts'

const clicks: Provenance = {
  flow: 'clicks',
  topic: 'east.clicks',
  src: 'clicks',
  sourceId: 'MkU3OEVBNTcwNTJENDM2Qg',
  from: '5L6g3nShT-eMCtK--X86sw',
  via: ['A', '5L6g3nShT-eMCtK--X86sw'],
  parts: 12,
  set: ['retention.ms'],
  claims: false,
  endedMs: null,
}
const bytes = (text: string) => Buffer.from(text)
const key = bytes(provenanceKey(clicks.topic))

test('provenance is written byte for byte in one order of keys', () => {
  assert.equal(provenanceKey('east.clicks'), '{"k":"topic","t":"east.clicks"}')
  const text =
    '{"v":1,"flow":"clicks","src":"clicks","t":"MkU3OEVBNTcwNTJENDM2Qg","from":"5L6g3nShT-eMCtK--X86sw",' +
    '"via":["A","5L6g3nShT-eMCtK--X86sw"],"parts":12,"set":["retention.ms"]'
  assert.equal(provenanceText(clicks), `${text}}`)
  assert.equal(provenanceText({ ...clicks, claims: true }), `${text},"claims":true}`)
  assert.equal(provenanceText({ ...clicks, endedMs: 1_700_000_000_000 }), `${text},"ended":1700000000000}`)
})

const provenances = fc.record<Provenance>(
  {
    flow: fc.string(),
    topic: fc.string(),
    src: fc.string(),
    sourceId: fc.string(),
    from: fc.string(),
    via: fc.array(fc.string()),
    parts: fc.nat(),
    set: fc.array(fc.string()),
    claims: fc.boolean(),
    endedMs: fc.option(fc.maxSafeNat()),
  },
  { noNullPrototype: true },
)

test('what is written is read back, whatever it says', () => {
  fc.assert(
    fc.property(provenances, one => {
      const read = provenanceFrom(bytes(provenanceKey(one.topic)), bytes(provenanceText(one)))
      assert.deepEqual(read, { topic: one.topic, provenance: one })
    }),
  )
})

test('provenance is the same when its record is the same', () => {
  assert.ok(sameProvenance(clicks, { ...clicks, via: [...clicks.via] }))
  const others: Partial<Provenance>[] = [
    { topic: 'clicks' },
    { parts: 13 },
    { via: ['A'] },
    { set: [] },
    { endedMs: 0 },
    { sourceId: '' },
    { claims: true },
  ]
  for (const other of others) assert.ok(!sameProvenance(clicks, { ...clicks, ...other }), JSON.stringify(other))
})

test('a record without a value takes away what was said of its topic', () => {
  assert.deepEqual(provenanceFrom(key, null), { topic: 'east.clicks', provenance: null })
})

test('fields of a later time are passed over, records of somebody else count as none', () => {
  const text = provenanceText(clicks)
  const more = bytes(text.replace('"parts":12', '"more":{"x":1},"parts":12'))
  assert.deepEqual(provenanceFrom(bytes('{"t":"east.clicks","x":[],"k":"topic"}'), more)?.provenance, clicks)
  assert.deepEqual(provenanceFrom(key, bytes(text.replace(/}$/, ',"ended":"soon"}')))?.provenance, clicks)
  for (const value of [
    '',
    'null',
    '7',
    '{',
    '[1]',
    '{"v":1}',
    text.replace('"v":1', '"v":2'),
    text.replace('12', '"12"'),
    text.replace('12', '-1'),
    text.replace('["A",', '[3,'),
    text.replace('["retention.ms"]', 'null'),
    text.replace('"src":"clicks",', ''),
  ]) {
    assert.equal(provenanceFrom(key, bytes(value)), null, value)
  }
  for (const other of [null, '', '7', '{"k":"group","t":"t"}', '{"k":"topic"}', '{"k":"topic","t":7}', 'topic']) {
    assert.equal(provenanceFrom(other === null ? null : bytes(other), bytes(text)), null, String(other))
    assert.equal(provenanceFrom(other === null ? null : bytes(other), null), null, String(other))
  }
})

describe('the loop guard', () => {
  /** What a flow from `from` has written of topic t at its destination. */
  const record = (from: string, via: string[], more: Partial<Provenance> = {}): Provenance => {
    return { ...clicks, flow: `from-${from}`, topic: 't', src: 't', from, via, parts: 3, ...more }
  }
  const check = (upstream: Provenance[], more: Partial<Parameters<typeof loopCheck>[0]> = {}) =>
    loopCheck({ ...of, ours: null, isRunning: false, upstream, ...more })
  const of = { destinationId: 'A', sourceId: 'B', topic: 't', destination: 't' }
  const free = { loop: false, rival: null }
  const before = (flow: string) => ({ loop: false, rival: { flow } })

  it('lets a topic pass that nobody has brought to the source', () => {
    assert.deepEqual(check([]), free)
    assert.deepEqual(check([record('C', ['D', 'C'])]), free)
  })

  it('stops one that came from the destination, also over others, and says how', () => {
    assert.deepEqual(check([record('A', ['A'])]), { loop: true, via: ['A'], flow: 'from-A' })
    const long = [record('D', ['D']), record('C', ['A', 'X', 'C'])]
    assert.deepEqual(check(long), { loop: true, via: ['A', 'X', 'C'], flow: 'from-C' })
  })

  it('knows a topic by its whole name at the source', () => {
    const renamed = record('A', ['A'], { topic: 'A.t' })
    assert.deepEqual(check([renamed]), free)
    assert.deepEqual(check([record('A', ['A'], { topic: 't2' })]), free)
    assert.equal(check([renamed], { topic: 'A.t' }).loop, true)
  })

  it('passes over what has ended', () => {
    assert.deepEqual(check([record('A', ['A'], { endedMs: 1 })]), free)
    assert.equal(check([record('A', ['A'], { endedMs: 1 }), record('C', ['A', 'C'])]).loop, true)
  })

  it('of two flows that find each other, the one that holds the topic stays', () => {
    const ours = (parts: number, more: Partial<Provenance> = {}) => record('B', ['B'], { parts, ...more })
    const theirs = (parts: number, more: Partial<Provenance> = {}) => [record('A', ['A'], { parts, ...more })]
    assert.deepEqual(check(theirs(0), { ours: ours(1) }), before('from-A'))
    assert.deepEqual(check(theirs(1, { claims: true }), { ours: ours(1) }), before('from-A'))
    assert.equal(check(theirs(1), { ours: ours(0) }).loop, true)
    assert.equal(check(theirs(1), { ours: ours(1, { claims: true }) }).loop, true)
    assert.equal(check(theirs(1), { ours: null }).loop, true)
    // One that runs has not written yet that it holds it.
    assert.deepEqual(check(theirs(0), { ours: ours(0), isRunning: true }), before('from-A'))
    assert.equal(check(theirs(1), { ours: ours(0), isRunning: true }).loop, true)
  })

  it('of two flows that both hold the topic, the one with the smaller source stays', () => {
    const [fromA, fromB] = ['A', 'B'].map(from => record(from, [from])) as [Provenance, Provenance]
    assert.equal(check([fromA], { ours: fromB }).loop, true)
    assert.deepEqual(check([fromB], { destinationId: 'B', sourceId: 'A', ours: fromA }), before('from-B'))
  })

  it('of two flows that find each other and have not copied, the one with the smaller source stays', () => {
    const [fromA, fromB] = ['A', 'B'].map(from => record(from, [from], { parts: 0 })) as [Provenance, Provenance]
    assert.equal(check([fromA], { ours: fromB }).loop, true)
    assert.equal(check([fromA], { ours: null }).loop, true)
    const other = { destinationId: 'B', sourceId: 'A' }
    assert.deepEqual(check([fromB], { ...other, ours: fromA }), before('from-B'))
  })

  it('stops one whose copy has another name than what comes back, also when neither has copied', () => {
    const fromB = record('B', ['B'], { parts: 0, topic: 'B.t', src: 't' })
    const how = { destinationId: 'B', sourceId: 'A', topic: 'B.t', destination: 'A.B.t' }
    assert.equal(check([fromB], how).loop, true)
    assert.equal(check([fromB], { ...how, ours: record('A', ['A'], { topic: 'A.B.t', src: 'B.t' }) }).loop, true)
  })

  it('of a circle of three clusters, stops the flow that comes last', () => {
    const ab = record('A', viaOf({ sourceId: 'A', destinationId: 'B' }, 't', []))
    const bc = record('B', viaOf({ sourceId: 'B', destinationId: 'C' }, 't', [ab]))
    assert.deepEqual(bc.via, ['A', 'B'])
    const last = check([bc], { sourceId: 'C', destinationId: 'A' })
    assert.deepEqual(last, { loop: true, via: ['A', 'B'], flow: 'from-B' })
    assert.deepEqual(check([ab], { sourceId: 'B', destinationId: 'C', ours: bc }), free)
    assert.deepEqual(check([], { sourceId: 'A', destinationId: 'B', ours: ab }), free)
  })

  it('of any circle stops one flow at least, and not all', () => {
    const circle = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 6 })
    fc.assert(
      fc.property(circle, fc.infiniteStream(fc.tuple(fc.nat({ max: 1 }), fc.boolean())), (ids, kinds) => {
        const flows = ids.map(id => {
          const [parts, claims] = kinds.next().value ?? [0, false]
          return record(id, ids, { parts, claims })
        })
        const stopped = flows.map((ours, i) => {
          const before = flows.at(i - 1) as Provenance
          const destinationId = ids[(i + 1) % ids.length] as string
          const names = { topic: 't', destination: 't' }
          const own = { ours, isRunning: false }
          return loopCheck({ destinationId, sourceId: ours.from, ...names, ...own, upstream: [before] }).loop
        })
        assert.ok(stopped.includes(true))
        assert.ok(stopped.includes(false))
      }),
    )
  })
})

test('via is all that the topic came through but the destination, then the source, each once', () => {
  const of = (via: string[], more: Partial<Provenance> = {}) => ({ ...clicks, topic: 't', via, ...more })
  const via = (upstream: Provenance[]) => viaOf({ sourceId: 'S', destinationId: 'D' }, 't', upstream)
  assert.deepEqual(via([]), ['S'])
  assert.deepEqual(via([of(['A', 'B']), of(['B', 'C'])]), ['A', 'B', 'C', 'S'])
  assert.deepEqual(via([of(['S', 'B'])]), ['B', 'S'])
  assert.deepEqual(via([of(['A', 'D'])]), ['A', 'S'])
  assert.deepEqual(via([of(['A'], { topic: 'u' }), of(['B'], { endedMs: 1 })]), ['S'])
})
