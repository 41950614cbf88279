import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFlow } from '../../engine/fleet/decide/documents/flow.ts'
import { askedBetween } from './askedBetween.ts'
import { askedFleet } from './askedFleet.ts'

const changes: [line: string, says: RegExp, route: string][] = [
  ['topics add clicks extra', /topic extra is in now/, 'PUT /v1/flows/{flow}/topics/{topic}'],
  ['topics remove clicks/extra', /topic extra is out now/, 'DELETE /v1/flows/{flow}/topics/{topic}'],
  [
    'pause clicks --topic clicks.a --partitions 3-4,7',
    /paused: clicks\.a\/3-4,7; none of it runs/,
    'POST /v1/flows/{flow}/pause',
  ],
  ['topics forget clicks extra', /topic extra is neither in nor out by hand/, 'PUT /v1/flows/{flow}/topics/{topic}'],
  ['pause clicks/clicks.a/9', /paused: clicks\.a\/3-4,7,9/, 'POST /v1/flows/{flow}/pause'],
  ['resume clicks/clicks.a/7', /resumed; .* still paused: clicks\.a\/3-4,9/, 'POST /v1/flows/{flow}/resume'],
  ['resume clicks', /resumed; what is in error tries again now$/, 'POST /v1/flows/{flow}/resume'],
  [
    'skip clicks/clicks.a/9 --offset 9',
    /passes over 1 record from offset 9$/,
    'POST /v1/flows/{flow}/partitions/{topic}/{partition}/skip',
  ],
  ['move clicks/clicks.a/0 --to w-2', /goes to w-2$/, 'POST /v1/flows/{flow}/partitions/{topic}/{partition}/move'],
  [
    'move clicks/clicks.a/0 --anywhere',
    /may be anywhere again$/,
    'POST /v1/flows/{flow}/partitions/{topic}/{partition}/move',
  ],
  ['drain w-1', /gives its units away$/, 'POST /v1/workers/{id}/drain'],
  ['undrain w-1', /takes units again/, 'POST /v1/workers/{id}/undrain'],
  ['balancing off', /balancing is off now$/, 'PUT /v1/balancing'],
  ['rebalance', /evened out/, 'POST /v1/rebalance'],
  ['offsets reset paused --to earliest', /clicks\.a +0 +5 +0$/m, 'PUT /v1/flows/{flow}/offsets'],
  ['delete paused', /is being deleted; nothing of it runs/, 'DELETE /v1/flows/{flow}'],
]

test('every change is made by one request, and said in one sentence', async t => {
  const { run, audit } = await askedFleet(t)
  for (const [line, says, route] of changes) {
    const before = audit.length
    const { code, out, err } = await run(line)
    assert.deepEqual([code, err], [0, ''], line)
    assert.match(out.trimEnd(), says, line)
    assert.deepEqual(
      audit.slice(before).map(one => `${one.verb} ${one.route}`),
      [route],
      line,
    )
  }
})

test('a change that stands already is said to', async t => {
  const { run } = await askedFleet(t)
  for (const line of [
    'topics add clicks x',
    'pause clicks',
    'move clicks/clicks.a/0 --to w-2',
    'drain w-1',
    'balancing off',
  ]) {
    await run(line)
    const { code, out } = await run(line)
    assert.equal(code, 0)
    assert.match(out, /already/, line)
  }
})

test('--dry-run changes nothing and shows what would be sent', async t => {
  const { run, audit, asked, dataOf } = await askedFleet(t)
  const before = [dataOf('/flows/clicks'), dataOf('/flows/paused'), dataOf('/wishes')]
  for (const [line] of changes) {
    const { code, out } = await run(`${line} --dry-run`)
    assert.equal(code, 0, line)
    assert.match(out, /nothing is changed/, line)
  }
  assert.deepEqual([dataOf('/flows/clicks'), dataOf('/flows/paused'), dataOf('/wishes')], before)
  // The API itself has a dry run of this one.
  assert.deepEqual(
    audit.map(one => one.route),
    ['/v1/flows/{flow}/offsets'],
  )
  assert.deepEqual(
    asked.map(one => one.dryRun),
    [true],
  )
  const { out } = await run('pause clicks/a/3 --dry-run -o json')
  assert.deepEqual(JSON.parse(out), {
    dryRun: true,
    method: 'POST',
    path: '/v1/flows/clicks/pause',
    ifMatch: null,
    body: { partitions: { a: '3' } },
  })
})

test('a dry run asks, and says what would come of it', async t => {
  const { run } = await askedFleet(t)
  for (const [line, says] of [
    ['pause clicks', /1 unit would stop/],
    ['pause clicks/clicks.a/3', /0 units would stop/],
    ['drain w-1', /1 unit would move/],
    ['undrain w-1', /it is not drained/],
    ['balancing off', /balancing is on now/],
    ['move clicks/clicks.a/0 --to w-2', /w-1 has it now/],
    ['skip clicks/clicks.a/9 --offset 9', /now: error at offset 9/],
  ] as const) {
    assert.match((await run(`${line} --dry-run`)).out, says, line)
  }
  for (const line of [
    'pause nope',
    'resume nope',
    'topics add nope a',
    'drain nobody',
    'move clicks/clicks.a/0 --to no',
  ]) {
    const { code, out } = await run(`${line} --dry-run`)
    assert.deepEqual([code, out], [4, ''], line)
  }
})

test('a name that the flow does not have is told, and what was asked stands', async t => {
  const { run } = await askedFleet(t)
  const paused = await run('pause clicks/click.a')
  assert.equal(paused.code, 0)
  assert.match(
    paused.err,
    /^flow clicks has no topic click\.a now \(did you mean clicks\.a\?\); a pause of it waits for it\n$/,
  )
  assert.match((await run('pause clicks/clicks.a/77')).err, /^clicks\.a has partitions 0 to 9 now;/)
  assert.match((await run('topics clicks')).out, /clicks\.a .* paused 77\n(.*\n)*|click\.a .* paused\n/)
  const removed = await run('topics remove clicks nope')
  assert.match(removed.err, /no topic nope now; millrace topics forget clicks nope takes this back/)
  assert.match((await run('topics clicks')).out, /^nope .* out$/m)
  await run('topics forget clicks nope')
  assert.doesNotMatch((await run('topics clicks')).out, /nope/)
})

test('a skip of what is not in error is said to wait, and a move names its flag', async t => {
  const { run } = await askedFleet(t)
  const skipped = await run('skip clicks/clicks.a/1 --offset 5')
  assert.match(
    skipped.out,
    /is not known to be in error: it passes over 1 record from offset 5 if it comes to fail there/,
  )
  const moved = await run('move clicks/clicks.a/0 --to nobody')
  assert.deepEqual([moved.code, moved.out], [2, ''])
  assert.match(moved.err, /^config-invalid: --to: found 'nobody', expected .*\n {2}millrace workers lists them/)
  assert.match((await run('move clicks/clicks.a/0 w-2')).err, /did you mean --to w-2\?/)
  assert.match((await run('skip clicks/clicks.a')).err, /as in: millrace skip/)
})

test('an odd name is one part of a path', async t => {
  const { run, dataOf } = await askedFleet(t)
  assert.equal((await run('topics add clicks __proto__')).code, 0)
  assert.deepEqual([...readFlow(dataOf('/flows/clicks') ?? '', '').overlay.topics], [['__proto__', 'in']])
  const { code, err } = await run('topics add clicks a?b#c')
  assert.equal(code, 2)
  assert.match(err, /'a\?b#c'/)
  assert.equal((await run('delete ../workers')).code, 2)
})

test('who may not is told which role it takes, and ends with 3', async t => {
  const { run } = await askedFleet(t)
  for (const [line] of changes) {
    const { code, out, err } = await run(line, { role: 'viewer' })
    assert.deepEqual([code, out], [3, ''], line)
    assert.match(err, /^forbidden: the-viewer is viewer; this needs (operator|admin)/, line)
    const none = await run(line, { role: null })
    assert.equal(none.code, 3, line)
    assert.match(none.err, /^unauthenticated: .*\n {2}put the token into MILLRACE_TOKEN/, line)
  }
})

test('a pause that is waited for ends with 13 while something still runs, and stands', async t => {
  const { run, putHeld } = await askedFleet(t)
  const late = await run('pause clicks --wait 1')
  assert.equal(late.code, 13)
  assert.match(late.out, /1 unit of it still runs/)
  assert.match(late.err, /after 1 s 1 unit still runs; the pause stands/)
  putHeld('w-1', [])
  const { code, out } = await run('pause clicks --wait 10')
  assert.equal(code, 0)
  assert.match(out, /none of it runs/)
})

test('offsets are reset to a time, an offset beyond 2^53 and of one partition only', async t => {
  const { run, asked } = await askedFleet(t)
  for (const where of ['2026-01-31', '2026-01-31T02:00:00+02:00', '9007199254740993', 'latest']) {
    assert.equal((await run(`offsets reset paused/p/3 --to ${where}`)).code, 0, where)
  }
  assert.deepEqual(
    asked.map(one => one.to),
    [{ timeMs: Date.UTC(2026, 0, 31) }, { timeMs: Date.UTC(2026, 0, 31) }, { offset: 9007199254740993n }, 'latest'],
  )
  assert.ok(asked.every(one => one.parts !== '*' && String(one.parts.get('p')) === '3'))
  const { code, err } = await run('offsets reset clicks --to earliest')
  assert.equal(code, 1)
  assert.match(err, /^conflict: flow clicks: not paused.*\n {2}pause them first, with --wait 10/)
})

test('offsets that could not be set are named, and some of them are a result of their own', async t => {
  const broken = { code: 'kafka-not-authorized' as const, message: 'no right to the group', hint: null }
  const change = (partition: number, fault: typeof broken | null) => ({
    topic: 'p',
    partition,
    before: 1n,
    after: 0n,
    fault,
  })
  const other = await askedFleet(t, {
    known: () => ({
      epoch: 7,
      sinceMs: 0,
      plan: () => ({ give: [], withdraw: [], unplaced: [], why: 'steady', more: false, loads: new Map() }),
      workers: () => new Map(),
      flows: () => new Map(),
      unit: () => null,
      units: () => new Map(),
      setOffsets: async () => [change(0, null), change(1, broken)],
    }),
  })
  const { code, out, err } = await other.run('offsets reset paused --to earliest')
  assert.equal(code, 10)
  assert.match(out, /p +1 +1 +0 +kafka-not-authorized: no right to the group/)
  assert.match(err, /1 partition of 2 could not be set/)
  assert.match((await other.run('plan')).out, /^nothing to do\nwhy: steady: loads are even enough\n/)
})

test('a worker that another may not replace keeps its units, and that is said', async t => {
  const { run, putWorker } = await askedFleet(t)
  putWorker('w-2', { state: 'stopping' })
  const { code, err } = await run('drain w-1')
  assert.equal(code, 0)
  assert.match(err, /1 unit no other worker may take, so it keeps them: clicks\/clicks\.a\/0/)
})

test('a flow that somebody changed after it was read is not deleted, and it is said who it was', async t => {
  const fleet = await askedFleet(t)
  const { run, putFlow, dataOf } = fleet
  // Between the look and the change of the command stands somebody else.
  let isFirst = true
  const between = await askedBetween(t, fleet.url, request => {
    if (!request.startsWith('DELETE') || !isFirst) return
    isFirst = false
    putFlow('clicks', { changedBy: { atMs: Date.UTC(2026, 0, 31), by: 'api:anna' } })
  })
  const { code, out, err } = await run('delete clicks', { api: between })
  assert.deepEqual([code, out], [1, ''])
  assert.match(err, /^stale: flow clicks was changed by api:anna at 2026-01-31T00:00:00\.000Z after it was read/)
  assert.equal(readFlow(dataOf('/flows/clicks') ?? '', '').deleting, false)
})
