import { areasOf, areaTable, unknownTests } from './tidy/acceptance.ts'
import { readTree } from './tidy/tree.ts'

/** `npm run scenarios [-- --json]`: each acceptance scenario of docs/design/ and the tests that stand for it. Exits 0. */
const tree = readTree()
const areas = areasOf(tree)
const unknown = unknownTests(areas, tree)

if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify({ areas, unknown })}\n`)
else process.stdout.write(areaTable(areas, unknown))
