import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterOf } from '../../cli/clusters.ts'
import { type MirrorFlags, mirrorSpecOf } from '../../cli/flagSpec.ts'

const asked = {
  from: clusterOf('source', '--from', 'east:9092'),
  to: clusterOf('destination', '--to', 'west:9092'),
  topics: { include: ['a'], exclude: [], names: [] },
}
const specOf = (flags: Partial<MirrorFlags>) => mirrorSpecOf(asked, { create: true, ...flags })

test('flags of a mirror are the keys of its spec, and what is not said has the defaults of the file', async () => {
  const spec = await specOf({ start: '2026-01-31T00:00:00Z', naming: 'east.', compression: 'zstd', create: false })
  assert.deepEqual(spec.start, { timeMs: Date.parse('2026-01-31T00:00:00Z') })
  assert.deepEqual([spec.naming, spec.compression, spec.destination.create], [{ prefix: 'east.' }, 'zstd', false])
  const plain = await specOf({})
  assert.deepEqual([plain.start, plain.naming, plain.compression], ['earliest', 'identity', 'keep'])
})

const wrong: [flags: Partial<MirrorFlags>, message: string, hint: string | null][] = [
  [{ naming: 'a b' }, "--naming: found 'a b', expected 1 to 248 of A-Z a-z 0-9 . _ -", null],
  [
    { compression: 'snapy' },
    "--compression: found 'snapy', expected keep, none, gzip, snappy, lz4 or zstd",
    'did you mean snappy?',
  ],
  [{ start: 'then' }, "--start: expected earliest, latest or a time such as 2026-01-31T00:00:00Z, found 'then'", null],
]
for (const [flags, message, hint] of wrong) {
  test(`${JSON.stringify(flags)} is refused by the name of the flag, in the words of the file`, async () => {
    await assert.rejects(specOf(flags), { code: 'config-invalid', message, hint })
  })
}
