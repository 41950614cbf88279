import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { withSmallDisk } from '../adapters/local/smallDisk.ts'
import { type FleetApi, fleetApi } from './fleet/api.ts'
import { flowsFile, mirrorFlow } from './flowsFile.ts'
import { millrace, type RunningMillrace } from './millrace.ts'
import { checkpointsOf, untilEnd, write } from './mirrorPlaces.ts'
import { live } from './rigFor.ts'
import { eventually } from './runFile.ts'
import { type TwoClusters, withTwoClusters } from './twoClusters.ts'

const longestMs = 120_000

describe('the API of one process', live, () => {
  let two: TwoClusters
  withTwoClusters(longestMs, found => {
    two = found
  })

  const soon = (t: TestContext) => AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
  const file = (t: TestContext) => flowsFile(t, { east: two.set.east.bootstrap, west: two.set.west.bootstrap })
  const part = (topic: string) => ({ topic, partition: 0 })
  const made = async (topics: string[], signal: AbortSignal) => {
    for (const topic of topics) {
      await two.east.admin.createTopic(topic, 1)
      await write(two.east, part(topic), [0, 20], signal)
    }
  }
  const specOf = (topic: string) => ({
    kind: 'mirror',
    spec: { from: 'east', to: 'west', topics: { include: [topic], refreshMs: 1_000 } },
  })
  const apiOf = async (running: RunningMillrace, signal: AbortSignal): Promise<FleetApi & { url: string }> => {
    const url = String((await running.logged(line => line['msg'] === 'listening'))['url'])
    const api = fleetApi(() => url, signal)
    await api.until(
      () => api.ask('GET', '/v1/status'),
      ({ body }) => body['leads'] === true,
    )
    return { ...api, url }
  }
  const copied = (topic: string, end: number, signal: AbortSignal) => untilEnd(two.west, part(topic), end, signal)

  test('a flow of the file and one made by people run side by side; what is paused outlives an edit and a kill', async t => {
    const signal = soon(t)
    await made(['one-file', 'one-made'], signal)
    const folder = mkdtempSync(join(tmpdir(), 'millrace-one-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const config = file(t)
    const start = () => millrace(['run', '-c', config.path], signal)
    const flows = (more: Record<string, unknown> = {}) => ({ 'one-file': mirrorFlow(['one-file'], more) })
    config.write(flows(), { store: `file://${folder}` })
    const first = start()
    const api = await apiOf(first, signal)
    const { status, body } = await api.ask('PUT', '/v1/flows/one-made', specOf('one-made'))
    assert.deepEqual([status, body['created'], body['units'], body['warnings']], [201, true, 1, []])
    await Promise.all([copied('one-file', 20, signal), copied('one-made', 20, signal)])
    assert.equal((await api.ask('PUT', '/v1/flows/one-made', specOf('one-made'))).body['unchanged'], true)
    assert.equal((await api.ask('PUT', '/v1/flows/one-file', specOf('x'))).status, 409)
    assert.equal((await api.done('POST', '/v1/flows/one-file/pause?wait=10'))['held'], 0)

    config.write(flows({ compression: 'gzip' }), { store: `file://${folder}` })
    first.child.kill('SIGHUP')
    await first.logged(line => line['msg'] === 'the configuration was read again')
    for (const topic of ['one-file', 'one-made']) await write(two.east, part(topic), [20, 30], signal)
    await copied('one-made', 30, signal)
    const seen = await api.done('GET', '/v1/flows/one-file')
    assert.deepEqual([seen['paused'], (seen['spec'] as { compression: string }).compression], ['all', 'gzip'])
    const epoch = Number(seen['epoch'])
    // What is copied and not stored yet would be repeated.
    await eventually(async () => {
      const stored = await checkpointsOf(two.east, 'one-made', signal)
      return stored.get('one-made/0') === 30 ? true : null
    }, signal)
    first.child.kill('SIGKILL')
    await first.ended

    const next = start()
    const again = await apiOf(next, signal)
    await write(two.east, part('one-made'), [30, 40], signal)
    await copied('one-made', 40, signal)
    const found = await again.done('GET', '/v1/flows/one-file')
    assert.deepEqual([found['paused'], Number(found['epoch']) > epoch], ['all', true])
    await copied('one-file', 20, signal)
    await again.done('POST', '/v1/flows/one-file/resume')
    await copied('one-file', 30, signal)

    const tag = (await again.ask('GET', '/v1/flows/one-made')).etag
    assert.equal((await again.ask('DELETE', '/v1/flows/one-made', undefined, { 'if-match': String(tag) })).status, 202)
    await again.until(
      () => again.ask('GET', '/v1/flows/one-made'),
      ({ status }) => status === 404,
    )
    next.child.kill('SIGTERM')
    const ended = await next.ended
    assert.equal(ended.code, 0, ended.stderr)
    const summaries = ended.lines.filter(line => line.type === 'summary')
    assert.deepEqual(
      summaries.map(({ flow, ok }) => [flow, ok]),
      [['one-file', true]],
    )
  })

  test('offsets are shown, and set while they are paused; what means a fleet is refused', async t => {
    const signal = soon(t)
    await made(['one-offsets'], signal)
    const config = file(t)
    config.write({ 'one-offsets': mirrorFlow(['one-offsets']) })
    const running = millrace(['run', '-c', config.path], signal)
    const api = await apiOf(running, signal)
    await copied('one-offsets', 20, signal)
    const offsets = async () => ((await api.done('GET', '/v1/flows/one-offsets/offsets'))['offsets'] as unknown[])[0]
    await api.until(offsets, row => (row as { checkpoint: unknown }).checkpoint === 20)
    const to = { parts: '*', to: 'earliest' }
    assert.equal((await api.ask('PUT', '/v1/flows/one-offsets/offsets', to)).status, 409)
    await api.done('POST', '/v1/flows/one-offsets/pause?wait=10')
    const tried = await api.done('PUT', '/v1/flows/one-offsets/offsets', { ...to, dryRun: true })
    const change = { topic: 'one-offsets', partition: 0, before: 20, after: 0, fault: null }
    assert.deepEqual(tried['parts'], [change])
    assert.equal((await checkpointsOf(two.east, 'one-offsets', signal)).get('one-offsets/0'), 20)
    assert.deepEqual((await api.done('PUT', '/v1/flows/one-offsets/offsets', to))['parts'], [change])
    await api.done('POST', '/v1/flows/one-offsets/resume')
    await copied('one-offsets', 40, signal)

    const status = await api.done('GET', '/v1/status')
    assert.deepEqual([status['mode'], status['keepsChanges']], ['solo', false])
    const [worker] = await api.workers()
    assert.deepEqual([worker?.held, worker?.state], [1, 'ready'])
    for (const path of ['rebalance', `workers/${worker?.id}/drain`]) {
      assert.equal((await api.ask('POST', `/v1/${path}`)).status, 409, path)
    }
    const move = await api.ask('POST', '/v1/flows/one-offsets/partitions/one-offsets/0/move', { to: worker?.id })
    assert.equal(move.status, 409)
    const page = await api.done('GET', '/v1/flows/one-offsets/partitions/one-offsets/0?why')
    assert.deepEqual([page['state'], page['worker']], ['running', worker?.id])
    assert.match(String((await api.ask('GET', '/metrics')).body['text']), /^millrace_mirror_/m)
    running.child.kill('SIGTERM')
    assert.equal((await running.ended).code, 0)
  })

  test('an address that the file names and that is taken ends it with 2; the one by default gives way to a free one', async t => {
    const signal = soon(t)
    const taken = createServer().listen(0, '127.0.0.1')
    t.after(() => taken.close())
    await once(taken, 'listening')
    const config = file(t)
    const listen = `127.0.0.1:${(taken.address() as AddressInfo).port}`
    config.write({}, { api: { listen } })
    const refused = await millrace(['run', '-c', config.path], signal).ended
    assert.equal(refused.code, 2, refused.stderr)
    assert.match(refused.stderr, /api\.listen: .*EADDRINUSE/)

    config.write({})
    const both = [0, 1].map(() => millrace(['run', '-c', config.path], signal))
    const urls = await Promise.all(both.map(async one => (await apiOf(one, signal)).url))
    assert.notEqual(urls[0], urls[1])
    for (const one of both) one.child.kill('SIGTERM')
    for (const one of both) assert.equal((await one.ended).code, 0)
  })

  test('COORDINATION 23: with the disk of its store full a PUT is 507 and nothing is changed, data goes on, and a kill forgets nothing', async t => {
    const signal = soon(t)
    const folder = mkdtempSync(join(tmpdir(), 'millrace-full-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const disk = await smallDisk(t, folder)
    if (disk === null) return t.skip('this user may not have a disk of his own')
    await made(['full-file', 'full-made'], signal)
    const config = file(t)
    config.write({ 'full-file': mirrorFlow(['full-file']) }, { store: `file://${disk.path}` })
    const start = () => millrace(['run', '-c', config.path], signal, {}, disk.within)
    const first = start()
    const api = await apiOf(first, signal)
    await api.done('PUT', '/v1/flows/full-made', specOf('full-made'))
    const before = await api.ask('GET', '/v1/flows/full-made')
    const epoch = Number(before.body['epoch'])

    disk.fill()
    const changed = { ...specOf('full-made'), overlay: { paused: { '*': '*' } } }
    const full = await api.ask('PUT', '/v1/flows/full-made', changed, { 'if-match': String(before.etag) })
    assert.deepEqual([full.status, full.body['code']], [507, 'store-full'])
    const same = await api.ask('GET', '/v1/flows/full-made')
    assert.deepEqual([same.etag, same.body['paused'], same.body['spec']], [before.etag, 'none', before.body['spec']])
    for (const topic of ['full-file', 'full-made']) {
      await write(two.east, part(topic), [20, 40], signal)
      await copied(topic, 40, signal)
    }
    assert.equal((await api.ask('POST', '/v1/flows/full-file/pause')).status, 507)

    disk.free()
    const done = await api.ask('PUT', '/v1/flows/full-made', changed, { 'if-match': String(before.etag) })
    assert.equal(done.status, 200)
    await api.done('POST', '/v1/flows/full-file/pause?wait=10', { partitions: { 'full-file': '0' } })
    first.child.kill('SIGKILL')
    await first.ended

    const next = start()
    const again = await apiOf(next, signal)
    const found = await again.done('GET', '/v1/flows/full-file')
    assert.deepEqual((found['overlay'] as Record<string, unknown>)['paused'], { 'full-file': '0' })
    assert.ok(Number(found['epoch']) > epoch, `${found['epoch']} after ${epoch}`)
    assert.equal((await again.done('GET', '/v1/flows/full-made'))['paused'], 'all')
    next.child.kill('SIGTERM')
    assert.equal((await next.ended).code, 0)
  })
})

type SmallDisk = {
  path: string
  /** A command that runs another one where the disk is seen. */
  within: string[]
  fill(): void
  free(): void
}

/** A disk that outlives the processes that use it, and goes with the test. Null where this user may not have one. */
async function smallDisk(t: TestContext, folder: string): Promise<SmallDisk | null> {
  const path = join(folder, 'disk')
  mkdirSync(path)
  const [command, ...rest] = withSmallDisk(path, 256) ?? []
  if (command === undefined) return null
  const holder: ChildProcess = spawn(command, [...rest, 'sh', '-c', 'echo held; read _'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(holder, 'close')
  t.after(async () => {
    holder.kill('SIGKILL')
    await ended
  })
  if (holder.stdout) await once(holder.stdout, 'data')
  const seen = join(`/proc/${holder.pid}/root`, path)
  const ballast = join(seen, 'ballast')
  return {
    path,
    within: [
      'nsenter',
      `--target=${holder.pid}`,
      '--user',
      '--preserve-credentials',
      '--mount',
      `--wd=${process.cwd()}`,
    ],
    fill() {
      const bytes = Buffer.alloc(1_024, 'b')
      for (let n = 0; ; n++) {
        try {
          writeFileSync(ballast, bytes, { flag: 'a' })
        } catch (error) {
          assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
          assert.ok(n > 10 && readFileSync(join(seen, 'fleet/state.json')).length > 0)
          return
        }
      }
    },
    free: () => unlinkSync(ballast),
  }
}
