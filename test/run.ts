import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { whenAncestorEnds } from './ancestors.ts'
import { root } from './tidy/tree.ts'

/** `node test/run.ts quick|live [filter…]`: the tests whose path contains one of the filters. The exit code is node's. */
const live = 'test/live/**/*.test.ts'
/** Without real parts, and yet too slow for the quick suite: documents of tens of thousands of units. */
const slow = 'test/**/*.slow.test.ts'
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
  const all = globSync(mode === 'live' ? [live, slow] : 'test/**/*.test.ts', {
    cwd: root,
    exclude: mode === 'live' ? [] : ['test/live/**', slow],
  })
  return all.filter(path => filters.length === 0 || filters.some(filter => path.includes(filter))).sort()
}

/** What these count or measure would be spoiled by a neighbour: they run alone, after all others (RIG R-26). */
const alone =
  /\/(kafkaIdle|mirrorIdle|zookeeperAdapterFaults|kafkaDeaf|kafkaQuota|simulation|rigCommand|rigOwner|rig)\.test\.ts$/

/** Live suites mostly wait for brokers and time-outs, so two at a time keep the cores busy. */
const liveAtOnce = 2

type Pass = { files: string[]; options: string[] }

function passesOf(mode: 'quick' | 'live', files: string[]): Pass[] {
  if (mode === 'quick') {
    return [{ files, options: [`--test-concurrency=${availableParallelism()}`, `--test-timeout=${testMsMax.quick}`] }]
  }
  const always = ['--test-global-setup=test/live/setup.ts', `--test-timeout=${testMsMax.live}`]
  const passes = [
    { files: files.filter(path => !alone.test(path)), options: [...always, `--test-concurrency=${liveAtOnce}`] },
    { files: files.filter(path => alone.test(path)), options: [...always, '--test-concurrency=1'] },
  ]
  return passes.filter(pass => pass.files.length > 0)
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
let running: ChildProcess | null = null
let timeOver = false

/** Gives node's exit code. */
async function runPass({ files, options }: Pass): Promise<number> {
  running = spawn(process.execPath, [...always, ...options, ...files], { cwd: root, stdio: 'inherit', env })
  const [code, signal] = await once(running, 'exit')
  return code ?? (signal === 'SIGINT' ? 130 : 143)
}

// A terminal sends Ctrl-C to the whole group; a signal sent to us alone is handed on. Either way node's end is ours.
let stopped = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    stopped = true
    running?.kill(signal)
  })
}
const end = (killMs: number) => {
  stopped = true
  running?.kill('SIGINT')
  setTimeout(() => running?.kill('SIGKILL'), killMs)
}
whenAncestorEnds(() => end(killOrphanAfterMs))
setTimeout(() => {
  timeOver = true
  process.stderr.write(`time over: the ${mode} tests ran for ${runMsMax[mode] / 1000} s\n`)
  end(killAfterMs)
}, runMsMax[mode])

// All are run, so that one run tells all that is wrong.
const codes: number[] = []
for (const pass of passesOf(mode, files)) if (!stopped) codes.push(await runPass(pass))
process.exit(timeOver ? timeOverCode : (codes.find(code => code !== 0) ?? 0))
