import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dryRun } from '../../cli/dryRun.ts'
import type { Around } from '../../cli/runFlows.ts'
import { mirrorSpec } from '../../engine/mirror/spec.ts'
import { manualClock } from '../fakes/clock.ts'
import { type FakeKafka, fakeKafka } from '../fakes/kafka/cluster.ts'

/** V-5 as far as a file says it; an overlay is of those who have an API. */
const topics = {
  include: ['clicks\\..*', 'a.b', '(?i)web-.*'],
  exclude: ['.*\\.tmp', 'clicks\\.x.'],
  names: ['audit', '__special', 'ledger'],
}
const yes = ['clicks.a', 'clicks.xyz', 'clicks.', 'audit', '__special', 'axb', 'a.b', 'WEB-1', 'ledger']
const no: Record<string, string[]> = {
  none: ['clicks', 'xclicks.a', 'audit2', 'extra'],
  exclude: ['clicks.b.tmp', 'clicks.d.tmp', 'clicks.xy'],
  reserved: ['__other', 'east.heartbeats', 'millrace.offsets.f', '__consumer_offsets'],
}

function clusters() {
  const clock = manualClock()
  const east = fakeKafka({ clock, name: 'east' })
  const west = fakeKafka({ clock, name: 'west' })
  for (const topic of [...yes, ...Object.values(no).flat()]) east.topic(topic)
  const ask = async (json: boolean, more: Record<string, unknown> = {}) => {
    const spec = mirrorSpec.parse({ from: 'east', to: 'west', topics, ...more })
    const life = { stop: new AbortController().signal } as Around['life']
    const around = { clock, life, tell: () => assert.fail('nothing is to be told') }
    const opened = { kafka: (name: string) => (name === 'east' ? east : west) }
    let text: string | null = null
    const asked = dryRun('flow', spec, opened, around as unknown as Around, json).then(found => {
      text = found
    })
    await clock.until(() => text !== null)
    await asked
    return text ?? ''
  }
  return { east, west, ask }
}

function writes({ counts }: FakeKafka): unknown {
  const { adminWrites, produces, commits } = counts()
  return { adminWrites, produces, commits }
}

test('MIRROR 8: a dry run answers the selection of V-5 with each rule, and sends no write', async () => {
  const { east, west, ask } = clusters()
  const text = await ask(true)
  const lines = text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  const chosen = lines.filter(line => line.selected).map(line => line.topic)
  assert.deepEqual(chosen, yes.toSorted())
  for (const [rule, left] of Object.entries(no)) {
    for (const topic of left) assert.equal(lines.find(line => line.topic === topic)?.rule, rule, topic)
  }
  assert.equal(lines.length, yes.length + Object.values(no).flat().length)
  assert.equal(lines.find(line => line.topic === 'audit').rule, 'names')
  await ask(true, { naming: { prefix: 'east.' }, destination: { create: false } })
  for (const cluster of [east, west]) assert.deepEqual(writes(cluster), { adminWrites: 0, produces: 0, commits: 0 })
})

test('at a terminal a dry run is a table that says of each topic what would be done', async () => {
  const { east, west, ask } = clusters()
  east.grow('clicks.a', 3)
  west.topic('clicks.a', 2)
  west.topic('axb')
  west.topic('a_b')
  const rows = (await ask(false)).trimEnd().split('\n')
  const rowOf = (topic: string) => rows.find(row => row.startsWith(`${topic} `))?.split(/\s{2,}/)
  assert.deepEqual(rows[0]?.split(/\s{2,}/), ['TOPIC', 'DESTINATION', 'PARTITIONS', 'THERE', 'RULE', 'NOTE'])
  assert.deepEqual(rowOf('clicks.a'), ['clicks.a', 'clicks.a', '3', '2', 'include', 'will be grown'])
  assert.deepEqual(rowOf('WEB-1'), ['WEB-1', 'WEB-1', '1', '-', 'include', 'will be created'])
  assert.deepEqual(rowOf('axb'), ['axb', 'axb', '1', '1', 'include'])
  assert.deepEqual(rowOf('audit2'), ['audit2', '-', '1', 'no pattern', 'left out'])
  assert.match(
    rowOf('a.b')?.at(-1) ?? '',
    /^config-invalid: a\.b: would be named 'a\.b', and the destination has 'a_b'/,
  )
  assert.equal(rows.at(-1), '8 of 20 topics would be copied')

  const byHand = (await ask(false, { destination: { create: false } })).split('\n')
  assert.match(byHand.find(row => row.startsWith('WEB-1 ')) ?? '', /waits until somebody creates it$/)
  assert.match(byHand.find(row => row.startsWith('clicks.a ')) ?? '', /waits for its partitions$/)
})
