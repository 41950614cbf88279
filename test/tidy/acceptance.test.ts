import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areasOf, areaTable, claimsIn, scenariosIn, unknownTests } from './acceptance.ts'

const design = [
  '# Some client',
  '1. not a scenario',
  '## 8. Scenarios',
  '1. [P] Vectors of §6. 2. [M, R] Frames round-trip, 1,000 values each. **up**',
  '3. [P] Broker 4–18 → 17. Table V-4. **[R]** Offsets: log end 5. [R] is no number of ours.',
  '4. **[P, M]** Work goes on with 1. 5. **[R]** A link is cut.',
  '7. without a mark, at the start of its line',
  '### notes',
  '8. [R] still inside',
  '## Not obvious',
  '9. [P] no more',
].join('\n')

test('scenarios are read over shared lines, ascending, and only inside their section', () => {
  assert.deepEqual(
    scenariosIn(design).map(one => [one.number, one.marks]),
    [
      [1, 'P'],
      [2, 'M, R'],
      [3, 'P'],
      [4, 'P, M'],
      [5, 'R'],
      [7, ''],
      [8, 'R'],
    ],
  )
  assert.deepEqual(scenariosIn('# Nothing\n1. [P] here'), [])
})

test('tests are matched to scenarios by area and number, and one without a scenario is told', () => {
  const lines = [
    "test('SOME 2: frames round-trip', () => {})",
    `test.skip(\`SOME 5: a link is cut ${'$'}{how}\`, () => {})`,
    "// test('SOME 1: only spoken of', () => {})",
    "test('SOME 6: no such number', () => {})",
    "test('OTHER 1: no such area', () => {})",
    "test('a sentence of 3: nothing more', () => {})",
    "suite.test('SOME 3: not a call of ours', () => {})",
  ]
  const sources = [
    { path: 'docs/design/SOME-CLIENT.md', text: design },
    { path: 'docs/design/STYLE.md', text: '# Style' },
    { path: 'test/live/some.test.ts', text: lines.join('\n') },
  ]
  const areas = areasOf(sources)
  assert.deepEqual(
    areas.map(one => [one.area, one.scenarios.length]),
    [['SOME', 7]],
  )
  assert.deepEqual(
    areas[0]?.scenarios.filter(one => one.tests.length > 0).map(one => one.number),
    [2, 5],
  )
  assert.equal(claimsIn(sources)[0]?.name, 'SOME 2: frames round-trip')
  const unknown = unknownTests(areas, sources)
  assert.deepEqual(
    unknown.map(one => one.line),
    [4, 5],
  )
  const table = areaTable(areas, unknown)
  assert.match(table, /^SOME {2}2 of 7 {2}\(docs\/design\/SOME-CLIENT\.md\)$/m)
  assert.match(table, /^ {4}2 {2}M, R {2}test\/live\/some\.test\.ts$/m)
  assert.match(table, /2 of 7 scenarios have a test/)
})
