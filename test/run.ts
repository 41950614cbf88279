import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { whenAncestorEnds } from './ancestors.ts'
import { root } from './tidy/tree.ts'

/** `node test/run.ts quick|live [filter…]`: the tests whose path contains one of the filters. The exit code is node's. */
const live = 'test/live/**/*.test.ts'
/** One test may take so long. */
const testMsMax = { quick: 60_000, live: 300_000 }
/** A file that does not end, a forgotten handle say, would hold the run for ever: then node is told to stop, and names it. */
const runMsMax = { quick: 300_000, live: 3_600_000 }
const killAfterMs = 10_000
/** With nobody left to read what a test says. */
const killOrphanAfterMs = 2_000
/** Exit codes of DESIGN §9: nothing of that name, time over. */
const nothingThereCode = 4
const timeOverCode = 13

function filesOf(mode: 'quick' | 'live', filters: string[]): string[] {
  const all = globSync(mode === 'live' ? live : 'test/**/*.test.ts', {
    cwd: root,
    exclude: mode === 'live' ? [] : ['test/live/**'],
  })
  return all.filter(path => filters.length === 0 || filters.some(filter => path.includes(filter))).sort()
}

/** Live suites share brokers and two cores, so they run one after another (RIG R-26). */
function optionsOf(mode: 'quick' | 'live'): string[] {
  return mode === 'live'
    ? ['--test-global-setup=test/live/setup.ts', '--test-concurrency=1', `--test-timeout=${testMsMax.live}`]
    : [`--test-concurrency=${availableParallelism()}`, `--test-timeout=${testMsMax.quick}`]
}

function refuse(message: string, code: number): never {
  process.stderr.write(`${message}\nnode test/run.ts quick|live [filter…]\n`)
  process.exit(code)
}

const [mode, ...filters] = process.argv.slice(2)
if (mode !== 'quick' && mode !== 'live') refuse(`unknown suite ${mode ?? '(none)'}`, 2)
const files = filesOf(mode, filters)
if (files.length === 0) refuse(`no ${mode} test file matches ${filters.join(' ') || 'anything'}`, nothingThereCode)

// TimeoutNegativeWarning is kafkajs's (KAFKA-CLIENT W-4).
const always = ['--disable-warning=TimeoutNegativeWarning', '--test', '--test-reporter=spec']
// Each file is a process of its own, and would strip the types of the whole tree again (docs/decisions/0006).
const env = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'), ...process.env }
const run = spawn(process.execPath, [...always, ...optionsOf(mode), ...files], { cwd: root, stdio: 'inherit', env })
// A terminal sends Ctrl-C to the whole group; a signal sent to us alone is handed on. Either way node's end is ours.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void run.kill(signal))
whenAncestorEnds(() => {
  run.kill('SIGINT')
  setTimeout(() => run.kill('SIGKILL'), killOrphanAfterMs)
})
let timeOver = false
setTimeout(() => {
  timeOver = true
  process.stderr.write(`time over: the ${mode} tests ran for ${runMsMax[mode] / 1000} s\n`)
  run.kill('SIGINT')
  setTimeout(() => run.kill('SIGKILL'), killAfterMs)
}, runMsMax[mode])
run.on('exit', (code, signal) => process.exit(timeOver ? timeOverCode : (code ?? (signal === 'SIGINT' ? 130 : 143))))
