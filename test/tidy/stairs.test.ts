import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeOf, stairsBreaches } from './stairs.ts'

/** One file that imports another, from the folder of the first. */
function planted(path: string, specifier: string, how = 'import'): string[] {
  const text = `// why\n${how} { thing } from '${specifier}'\n`
  return stairsBreaches([{ path, text }]).map(breach => `${breach.path}:${breach.line} ${breach.says}`)
}

const climbs: [path: string, specifier: string][] = [
  ['engine/errors.ts', './flow/position.ts'],
  ['engine/limits.ts', './batch/header.ts'],
  ['engine/batch/walk.ts', '../flow/position.ts'],
  ['engine/batch/walk.ts', '../ports/kafka.ts'],
  ['engine/ports/kafka.ts', '../flow/contract.ts'],
  ['engine/ports/kafka.ts', '../adapters/kafka/link.ts'],
  ['engine/flow/position.ts', '../mirror/spec.ts'],
  ['engine/flow/position.ts', '../ports/kafka.ts'],
  ['engine/mirror/decide/batchPlan.ts', '../unit.ts'],
  ['engine/mirror/decide/batchPlan.ts', '../../job/decide/plan.ts'],
  ['engine/adapters/kafka/decide/planFetch.ts', '../link.ts'],
  ['engine/mirror/unit.ts', '../adapters/kafka/link.ts'],
  ['engine/mirror/unit.ts', '../adapters/kafka/decide/planFetch.ts'],
  ['engine/mirror/unit.ts', '../job/unit.ts'],
  ['engine/mirror/unit.ts', '../process/logger.ts'],
  ['engine/mirror/unit.ts', '../../cli/mirror.ts'],
  ['engine/fleet/runner.ts', '../mirror/unit.ts'],
  ['engine/fleet/runner.ts', '../mirror/decide/batchPlan.ts'],
  ['engine/fleet/runner.ts', '../kinds.ts'],
  ['engine/api/flows.ts', '../function/decide/retry.ts'],
  ['engine/process/config.ts', '../adapters/local/files.ts'],
  ['engine/process/config.ts', '../mirror/spec.ts'],
  ['engine/adapters/kafka/login.ts', '../kerberos/mechanism.ts'],
  ['engine/adapters/kafka/login.ts', '../../mirror/unit.ts'],
  ['engine/adapters/kafka/login.ts', '../../mirror/decide/batchPlan.ts'],
  ['engine/kinds.ts', './fleet/runner.ts'],
  ['engine/mirror/unit.ts', '../wiring/clusters.ts'],
  ['engine/fleet/runner.ts', '../wiring/machine.ts'],
  ['engine/process/logger.ts', '../wiring/version.ts'],
  ['engine/adapters/kafka/login.ts', '../../wiring/clusters.ts'],
  ['engine/kinds.ts', './wiring/kinds.ts'],
  ['engine/wiring/startProcess.ts', '../../cli/run.ts'],
  ['engine/wiring/startProcess.ts', '../../tasks/worker/config.ts'],
  ['engine/wiring/startProcess.ts', '../../rig/main.ts'],
  ['infra/app.ts', '../engine/wiring/version.ts'],
  ['engine/oddments.ts', './errors.ts'],
  ['engine/mirror/unit.ts', '../oddments.ts'],
  ['cli/mirror.ts', '../tasks/worker/main.ts'],
  ['cli/mirror.ts', '../rig/main.ts'],
  ['engine/mirror/unit.ts', '../../test/fakes/kafka.ts'],
  ['infra/app.ts', '../engine/limits.ts'],
  ['tasks/worker/config.ts', '../../engine/flow/contract.ts'],
]
for (const [path, specifier] of climbs) {
  test(`${path} may not import ${specifier}`, () => {
    const found = planted(path, specifier)
    assert.equal(found.length, 1)
    assert.match(found[0] ?? '', new RegExp(`^${path}:[12] `))
  })
}

const descends: [path: string, specifier: string, how?: string][] = [
  ['engine/batch/walk.ts', '../errors.ts'],
  ['engine/ports/kafka.ts', '../batch/header.ts', 'import type'],
  ['engine/flow/contract.ts', '../ports/kafka.ts', 'import type'],
  ['engine/flow/position.ts', '../batch/header.ts'],
  ['engine/mirror/decide/batchPlan.ts', '../spec.ts'],
  ['engine/mirror/decide/batchPlan.ts', './selection.ts'],
  ['engine/adapters/kafka/decide/planFetch.ts', '../frames/fetch.ts', 'import type'],
  ['engine/mirror/unit.ts', '../ports/kafka.ts'],
  ['engine/mirror/unit.ts', './decide/batchPlan.ts'],
  ['engine/mirror/unit.ts', '../logs/decide/cutLine.ts'],
  ['engine/adapters/kafka/fetcher.ts', './decide/planFetch.ts'],
  ['engine/adapters/kafka/frames/fetch.ts', '../wire.ts'],
  ['engine/kinds.ts', './mirror/steer.ts'],
  ['cli/mirror.ts', './run.ts'],
  ['cli/mirror.ts', '../engine/wiring/openCluster.ts'],
  ['tasks/worker/main.ts', '../../engine/wiring/startProcess.ts'],
  ['functions/launcher/handler.ts', '../../engine/wiring/startProcess.ts'],
  ['engine/wiring/kinds.ts', '../kinds.ts'],
  ['engine/wiring/kinds.ts', '../mirror/spec.ts'],
  ['engine/wiring/openCluster.ts', '../adapters/kafka/openKafka.ts'],
  ['engine/wiring/startProcess.ts', '../process/stop.ts'],
  ['engine/wiring/startProcess.ts', './version.ts'],
  ['cli/mirror.ts', '../engine/adapters/kafka/cluster.ts'],
  ['cli/main.ts', '../package.json'],
  ['infra/app.ts', '../tasks/worker/config.ts'],
  ['rig/samples.ts', '../engine/adapters/kafka/cluster.ts'],
  ['test/live/mirror.test.ts', '../../rig/kafka.ts'],
  ['bench/mirror/main.ts', '../../rig/kafka.ts'],
]
for (const [path, specifier, how] of descends) {
  test(`${path} may import ${specifier}`, () => assert.deepEqual(planted(path, specifier, how), []))
}

test('an import over several lines, a re-export and a dynamic import are seen, each at its line', () => {
  const text = [
    "import {\n  one,\n  two,\n} from '../adapters/kafka/link.ts'",
    "export { three } from '../adapters/kafka/slab.ts'",
    "const later = () => import('../adapters/kafka/wire.ts')",
    "import '../adapters/kafka/login.ts'",
  ].join('\n')
  const lines = stairsBreaches([{ path: 'engine/mirror/unit.ts', text }]).map(breach => breach.line)
  assert.deepEqual(lines, [4, 5, 6, 7])
})

test('what stands in a comment or in a string is no import', () => {
  const text =
    "// import x from '../adapters/a.ts'\nconst a = `import x from '../adapters/kafka/a.ts'`\n/* from '../x' */"
  assert.deepEqual(stairsBreaches([{ path: 'engine/mirror/unit.ts', text }]), [])
})

test('a file has one place: pure parts of features and adapters are decide', () => {
  assert.deepEqual(placeOf('engine/adapters/kafka/decide/classify.ts'), { stair: 'decide', area: 'adapters/kafka' })
  assert.deepEqual(placeOf('engine/mirror/decide/batchPlan.ts'), { stair: 'decide', area: 'mirror' })
  assert.equal(placeOf('engine/adapters/link.ts'), null)
})
