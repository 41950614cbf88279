import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machineClock } from '../../engine/adapters/local/clock.ts'
import { startWriter } from '../../engine/api/writer.ts'
import { MillraceError } from '../../engine/errors.ts'
import { readFlow } from '../../engine/fleet/decide/documents/flow.ts'
import { readWishes } from '../../engine/fleet/decide/documents/wishes.ts'
import type { Coordinator } from '../../engine/ports/coordinator.ts'
import { manualClock } from '../fakes/clock.ts'
import { ask, goodSpec, newFleet, served } from './served.ts'

/** A session over the documents that counts the writes that somebody else was faster than. */
function counting(session: Coordinator, lost: { count: number }): Coordinator {
  return {
    ...session,
    async write(ops) {
      const written = await session.write(ops)
      if (!written.done) lost.count++
      return written
    },
  }
}

test('COORDINATION 19: of 200 writes at once through two controllers none is lost, and each is one version', async t => {
  const fleet = newFleet(2)
  const lost = { count: 0 }
  const racing = () => {
    const session = counting(fleet.coordination.open(), lost)
    return { coordinator: () => session }
  }
  const one = await served(t, racing(), fleet)
  const two = await served(t, racing(), fleet)
  fleet.putFlow('clicks')
  fleet.putWorker('w-1')
  const versionOf = (path: string) => fleet.coordination.tree.read(path)?.version ?? -1
  const asked = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const { url } = i % 2 === 0 ? one : two
      const [method, path, body] = [
        ['PUT', `/v1/flows/clicks/topics/t${i}`, undefined],
        ['POST', '/v1/flows/clicks/pause', { partitions: { [`p${i % 5}`]: String(i) } }],
        ['POST', `/v1/flows/clicks/partitions/s${i}/0/skip`, { offset: i, records: 1 }],
        ['POST', '/v1/rebalance', undefined],
      ][i % 4] as [string, string, unknown]
      return { path, told: await ask(url, method, path, body === undefined ? {} : { body }) }
    }),
  )
  for (const { path, told } of asked) assert.ok(told.status < 300, `${path} ${told.text}`)
  const { overlay } = readFlow(String(fleet.dataOf('/flows/clicks')), '')
  assert.equal(overlay.topics.size, 50)
  assert.equal(overlay.skips.size, 50)
  const paused = overlay.paused === '*' ? [] : [...overlay.paused.values()]
  assert.equal(
    paused.reduce((sum, of) => sum + of.length, 0),
    50,
  )
  assert.equal(versionOf('/flows/clicks'), 150)
  assert.equal(readWishes(String(fleet.dataOf('/wishes')), '').rebalance, 50)
  assert.equal(versionOf('/wishes'), 49)
  // Else nothing has crossed, and the test says nothing.
  assert.ok(lost.count > 0)
})

test('COORDINATION 19: with If-Match and a retry none is lost, and every stale tag is 412', async t => {
  const fleet = newFleet()
  const urls = [(await served(t, {}, fleet)).url, (await served(t, {}, fleet)).url]
  fleet.putFlow('clicks')
  let stale = 0
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const url = String(urls[i % 2])
      for (;;) {
        const { headers } = await ask(url, 'GET', '/v1/flows/clicks')
        const how = { headers: { 'if-match': String(headers.get('etag')) } }
        const told = await ask(url, 'PUT', `/v1/flows/clicks/topics/t${i}`, how)
        if (told.status === 201) return
        assert.equal(told.status, 412, told.text)
        stale++
      }
    }),
  )
  assert.equal(readFlow(String(fleet.dataOf('/flows/clicks')), '').overlay.topics.size, 20)
  assert.equal(fleet.coordination.tree.read('/flows/clicks')?.version, 20)
  assert.ok(stale > 0)
})

test('a write whose answer is lost is read back, and answered as done', async t => {
  const api = await served(t)
  const isWrite = (asked: { do: string }) => asked.do === 'write'
  api.coordination.loseNextAnswer(isWrite)
  const made = await api.ask('PUT', '/v1/flows/clicks', { body: { kind: 'mirror', spec: goodSpec() } })
  assert.equal(made.status, 201, made.text)
  assert.equal(made.headers.get('etag'), `"${api.tagOf('/flows/clicks')}"`)
  api.coordination.loseNextAnswer(isWrite)
  const headers = { 'if-match': String(made.headers.get('etag')) }
  const put = await api.ask('PUT', '/v1/flows/clicks/topics/a', { headers })
  assert.equal(put.status, 201, put.text)
  assert.equal(api.coordination.tree.read('/flows/clicks')?.version, 1)
})

test('a write that is lost on its way is done once', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  api.coordination.loseNextRequest(asked => asked.do === 'write')
  assert.equal((await api.ask('PUT', '/v1/flows/clicks/topics/a')).status, 201)
  assert.equal(api.coordination.tree.read('/flows/clicks')?.version, 1)
})

/** A session whose writes end unanswered, after `then` has been done to the tree. */
function unanswered(session: Coordinator, then: () => void, isReadable = true): Coordinator {
  let isLost = false
  return {
    ...session,
    async write() {
      then()
      isLost = true
      throw new MillraceError('outcome-unknown', 'no answer')
    },
    async read(path) {
      if (isLost && !isReadable) throw new MillraceError('coordination-unreachable', 'away')
      return session.read(path)
    },
  }
}

const still = { chance: () => 0.5, stop: new AbortController().signal, nudge() {} }
/** A session that was just opened is connected. */
const settled = () => new Promise(resolve => setImmediate(resolve))

function changeOf(text: string, match: { ifMatch: string[] | null }) {
  return {
    path: '/flows/x',
    what: 'flow x',
    match: { ...match, isCreate: false, text: null },
    read: (data: string) => data,
    write: (data: string) => data,
    to: () => text,
  }
}

test('whether a write was done that nobody can read back is not known, and that is said', async () => {
  const fleet = newFleet()
  const session = fleet.coordination.open()
  await settled()
  fleet.put('/flows/x', 'old')
  const clock = manualClock()
  const away = unanswered(session, () => {}, false)
  const writer = startWriter({ ...still, clock, coordinator: () => away })
  const refused = assert.rejects(writer.change(changeOf('new', { ifMatch: null })), { code: 'outcome-unknown' })
  await clock.advance(6_000)
  await refused
  // Somebody came after: with a tag it cannot be told whether ours was before.
  const after = unanswered(session, () => fleet.put('/flows/x', 'theirs'))
  const other = startWriter({ ...still, clock: machineClock(), coordinator: () => after })
  const tag = fleet.tagOf('/flows/x')
  await assert.rejects(other.change(changeOf('new', { ifMatch: [tag] })), { code: 'outcome-unknown' })
})

test('a write that is done after it was given up and repeated counts as done', async () => {
  const fleet = newFleet()
  const session = fleet.coordination.open()
  await settled()
  fleet.put('/flows/x', 'old')
  const tag = fleet.tagOf('/flows/x')
  let writes = 0
  const late: Coordinator = {
    ...session,
    async write(ops) {
      if (++writes === 1) throw new MillraceError('outcome-unknown', 'no answer')
      // The first one arrives now, before its repeat.
      fleet.put('/flows/x', 'new')
      return session.write(ops)
    },
  }
  const writer = startWriter({ ...still, clock: machineClock(), coordinator: () => late })
  const changed = await writer.change(changeOf('new', { ifMatch: [tag] }))
  assert.deepEqual([changed.is, changed.after?.tag, writes], ['changed', fleet.tagOf('/flows/x'), 2])
})

test('while the coordination service is away reads are from memory, and writes are 503', async t => {
  const api = await served(t)
  api.putFlow('clicks')
  const before = await api.ask('GET', '/v1/flows/clicks')
  await api.ask('GET', '/v1/status')
  api.coordination.suspend(api.session, Number.POSITIVE_INFINITY)
  const after = await api.ask('GET', '/v1/flows/clicks')
  assert.deepEqual([after.status, after.headers.get('etag')], [200, before.headers.get('etag')])
  assert.ok(String(after.json['asOf']) < new Date().toISOString())
  const status = await api.ask('GET', '/v1/status')
  assert.equal(status.status, 200, status.text)
  assert.notEqual((status.json['coordination'] as { phase: string }).phase, 'connected')
  const put = await api.ask('PUT', '/v1/flows/clicks/topics/a')
  assert.deepEqual([put.status, put.json['code']], [503, 'coordination-unreachable'])
  assert.equal((await api.ask('GET', '/v1/flows/unseen')).status, 503)
})
