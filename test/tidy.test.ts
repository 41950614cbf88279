import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areasOf, unknownTests } from './tidy/acceptance.ts'
import { citationBreaches } from './tidy/citations.ts'
import { errorCodeBreaches } from './tidy/errorCodes.ts'
import { exportBreaches } from './tidy/exports.ts'
import { libraryBreaches } from './tidy/libraries.ts'
import { machinePathBreaches, nameBreaches } from './tidy/names.ts'
import { purityBreaches } from './tidy/purity.ts'
import { secretBreaches } from './tidy/secrets.ts'
import { stairsBreaches } from './tidy/stairs.ts'
import { type Breach, listed, readTree } from './tidy/tree.ts'

const tree = readTree()

function none(breaches: Breach[]): void {
  assert.equal(listed(breaches), '')
}

test('imports only go down the stairs', () => none(stairsBreaches(tree)))
test('every library is imported in its own folder only', () => none(libraryBreaches(tree)))
test('pure code takes clock, chance, environment and I/O as arguments', () => none(purityBreaches(tree)))
test('only adapters reveal a secret', () => none(secretBreaches(tree)))
test('every cited rule and section exists in docs/design', () => none(citationBreaches(tree)))
test('every fault code has its row in docs/errors.md, and every row its code', () => none(errorCodeBreaches(tree)))
test('what is exported is imported somewhere', () => none(exportBreaches(tree)))
test('every file is named after an idea', () => none(nameBreaches(tree)))
test('no file names a path of one machine', () => none(machinePathBreaches(tree)))
test('every test that names a scenario stands for one that exists', () => none(unknownTests(areasOf(tree), tree)))
test('brokers are told the version of the package', () => {
  const textOf = (path: string) => tree.find(source => source.path === path)?.text ?? ''
  const { version } = JSON.parse(textOf('package.json'))
  assert.ok(textOf('engine/adapters/kafka/connect.ts').includes(`version: '${version}'`))
})
test('the tree that the rules read is there', () => {
  const paths = tree.map(source => source.path)
  for (const path of ['engine/errors.ts', 'engine/batch/header.ts', 'docs/design/DESIGN.md', '.ci/run', 'dev']) {
    assert.ok(paths.includes(path), path)
  }
})
