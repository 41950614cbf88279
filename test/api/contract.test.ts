import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js'
import { type Asking, newFleet, type Served, served, type Told, tokens } from './served.ts'

type Operation = {
  operationId: string
  parameters: { name: string; in: string; schema: AnySchema }[]
  requestBody?: { required: boolean; content: Record<string, { schema: AnySchema }> }
  responses: Record<string, { content?: Record<string, { schema: AnySchema }> }>
  security: unknown[]
  'x-role': 'viewer' | 'operator' | 'admin' | null
}
type Document = {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: { Problem: AnySchema } }
}

/** What is asked of each operation, and what is answered; what is missing here makes the test red. */
const good: Record<string, { path?: string; body?: unknown; status: number; needsTag?: boolean }> = {
  getStatus: { status: 200 },
  getFlows: { status: 200 },
  getFlowsFlow: { status: 200 },
  putFlowsFlow: {
    status: 201,
    path: '/v1/flows/new',
    body: { kind: 'mirror', spec: { from: 'east', to: 'west', topics: { include: ['new'] } } },
  },
  deleteFlowsFlow: { status: 202, path: '/v1/flows/going?force=true' },
  postFlowsFlowPreview: { status: 200 },
  getFlowsFlowTopics: { status: 200 },
  getFlowsFlowTopicsTopic: { status: 200 },
  putFlowsFlowTopicsTopic: { status: 201, path: '/v1/flows/clicks/topics/extra' },
  deleteFlowsFlowTopicsTopic: { status: 200 },
  postFlowsFlowPause: { status: 202, body: { partitions: { 'clicks.a': '3-4' } } },
  postFlowsFlowResume: { status: 202, body: { topics: ['clicks.a'] } },
  getFlowsFlowOffsets: { status: 200 },
  putFlowsFlowOffsets: { status: 200, path: '/v1/flows/paused/offsets', body: { parts: '*', to: 'earliest' } },
  getFlowsFlowPartitions: { status: 200, path: '/v1/flows/clicks/partitions?topic=clicks.a' },
  getFlowsFlowPartitionsTopicPartition: { status: 200, path: '/v1/flows/clicks/partitions/clicks.a/0?why' },
  postFlowsFlowPartitionsTopicPartitionSkip: { status: 202, body: { offset: 9, records: 1 } },
  postFlowsFlowPartitionsTopicPartitionMove: { status: 202, body: { to: 'w-1' } },
  getWorkers: { status: 200 },
  getWorkersId: { status: 200 },
  postWorkersIdDrain: { status: 202 },
  postWorkersIdUndrain: { status: 202 },
  getBalancing: { status: 200 },
  putBalancing: { status: 200, body: { auto: false } },
  postRebalance: { status: 202 },
  getPlan: { status: 200 },
  getState: { status: 200 },
  getLivez: { status: 200 },
  getReadyz: { status: 200 },
  getMetrics: { status: 200 },
  getOpenapiJson: { status: 200 },
}
const bad: Record<string, unknown> = {
  putFlowsFlow: {
    kind: 'miror',
    spec: 7,
    overlay: { topics: { 'bad name': 'maybe' }, skips: { a: { x: [1] } } },
    x: 1,
  },
  postFlowsFlowPause: { topics: [], partitions: { a: '3-1' } },
  putFlowsFlowOffsets: { parts: { a: 1 }, to: 'erliest', dryRun: 'yes' },
  postFlowsFlowPartitionsTopicPartitionSkip: { offset: -1, records: 0 },
  postFlowsFlowPartitionsTopicPartitionMove: { to: 7 },
  putBalancing: { auto: 'yes' },
}

function fleet() {
  const made = newFleet()
  made.putFlow('clicks')
  made.putFlow('going', { spec: { from: 'east', to: 'west', topics: { include: ['going'] } } })
  const paused = { topics: new Map(), paused: '*' as const, skips: new Map() }
  made.putFlow('paused', { spec: { from: 'east', to: 'west', topics: { include: ['p'] } }, overlay: paused })
  made.putWorker('w-1')
  made.putWorker('w-2', { state: 'stopping' })
  made.putHeld('w-1', ['clicks/clicks.a/0'])
  made.putAssignment('w-1', ['clicks/clicks.a/0'])
  return made
}

const values: Record<string, string> = { flow: 'clicks', topic: 'clicks.a', partition: '0', id: 'w-1' }

type Case = { id: string; method: string; path: string; pattern: string; operation: Operation }

async function operationsOf(api: Served): Promise<{ document: Document; cases: Case[] }> {
  const { json } = await api.ask('GET', '/openapi.json')
  const document = json as unknown as Document
  const cases = Object.entries(document.paths).flatMap(([pattern, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => {
      const id = operation.operationId
      const path = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'x')
      return { id, method: verb.toUpperCase(), pattern, path: good[id]?.path ?? path, operation }
    }),
  )
  return { document, cases }
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })

function assertFits(document: Document, { id, operation }: Case, told: Told): void {
  const own = operation.responses[String(told.status)]
  if (!own) {
    assert.match(
      told.headers.get('content-type') ?? '',
      /^application\/problem\+json/,
      `${id} ${told.status} ${told.text}`,
    )
    return assertSchema(document.components.schemas.Problem, told.json, `${id} ${told.status}`)
  }
  const [[type, { schema }] = ['', { schema: {} }]] = Object.entries(own.content ?? {})
  assert.ok(told.headers.get('content-type')?.startsWith(type), `${id}: ${told.headers.get('content-type')}`)
  assertSchema(schema, type === 'application/json' ? told.json : told.text, id)
}

function assertSchema(schema: AnySchema, value: unknown, what: string): void {
  const isGood = ajv.validate(schema, value)
  assert.ok(isGood, `${what}: ${ajv.errorsText()} in ${JSON.stringify(value)}`)
}

test('every operation of the served document is answered as the document says', async t => {
  const api = await served(t, {}, fleet())
  const { document, cases } = await operationsOf(api)
  assert.equal(document.openapi, '3.1.0')
  assert.deepEqual(cases.map(one => one.id).toSorted(), Object.keys(good).toSorted())
  for (const one of cases) {
    const wanted = good[one.id]
    const how: Asking = wanted?.body === undefined ? {} : { body: wanted.body }
    const told = await api.ask(one.method, one.path, how)
    assert.equal(told.status, wanted?.status, `${one.id}: ${told.text}`)
    assertFits(document, one, told)
    assert.equal(told.headers.get('x-millrace-leader'), 'lead-1', one.id)
    assert.equal(told.headers.get('x-millrace-epoch'), '7', one.id)
    assert.ok(Date.parse(told.headers.get('x-millrace-as-of') ?? '') > 0, one.id)
  }
})

test('a bad body is refused with everything that is wrong with it, on every operation that takes one', async t => {
  const api = await served(t, {}, fleet())
  const { document, cases } = await operationsOf(api)
  for (const one of cases.filter(({ operation }) => operation.requestBody)) {
    const unknown = await api.ask(one.method, one.path, { body: bad[one.id] ?? { nonsense: 1, more: 2 } })
    assert.equal(unknown.status, 422, `${one.id}: ${unknown.text}`)
    assertFits(document, one, unknown)
    assert.equal(unknown.json['code'], 'config-invalid')
    assert.ok((unknown.json['errors'] as unknown[]).length > 0)
    const broken = await api.ask(one.method, one.path, { text: '{"secret": "hunter22' })
    assert.equal(broken.status, 400, one.id)
    assert.doesNotMatch(broken.text, /hunter/)
    assertFits(document, one, broken)
    const type = await api.ask(one.method, one.path, { text: '{}', headers: { 'content-type': 'text/plain' } })
    assert.equal(type.status, 415, one.id)
    assertFits(document, one, type)
    const large = await api.ask(one.method, one.path, { text: JSON.stringify('x'.repeat(300_000)) })
    assert.equal(large.status, 413, one.id)
    assertFits(document, one, large)
    if (one.operation.requestBody?.required) {
      const none = await api.ask(one.method, one.path)
      assert.equal(none.status, 422, `${one.id}: ${none.text}`)
    }
  }
})

test('nobody is heard without a token, and nobody whose role is too low', async t => {
  const api = await served(t, {}, fleet())
  const { document, cases } = await operationsOf(api)
  const roles = ['viewer', 'operator', 'admin'] as const
  for (const one of cases) {
    const needed = one.operation['x-role']
    const none = await api.ask(one.method, one.path, { token: null })
    if (needed === null) {
      assert.equal(none.status, 200, one.id)
      assert.deepEqual(one.operation.security, [])
      continue
    }
    assert.deepEqual(one.operation.security, [{ token: [] }])
    assert.equal(none.status, 401, one.id)
    assert.match(none.headers.get('www-authenticate') ?? '', /^Bearer/)
    assertFits(document, one, none)
    const wrong = await api.ask(one.method, one.path, { token: `${tokens.admin}x` })
    assert.equal(wrong.status, 401, one.id)
    for (const role of roles.slice(0, roles.indexOf(needed))) {
      const low = await api.ask(one.method, one.path, { token: tokens[role] })
      assert.equal(low.status, 403, `${one.id} ${role}`)
      assert.equal(low.json['code'], 'forbidden')
      assertFits(document, one, low)
    }
    // Whoever may is refused for the body, if for anything.
    const may = await api.ask(one.method, one.path, { token: tokens[needed], body: { nonsense: 1 } }).catch(() => null)
    assert.ok(may === null || ![401, 403].includes(may.status), one.id)
  }
})

test('a stale If-Match is 412 with the tag of now, on every operation that hears it', async t => {
  const api = await served(t, {}, fleet())
  const { document, cases } = await operationsOf(api)
  const hearing = cases.filter(({ operation }) => operation.parameters.some(one => one.name === 'If-Match'))
  assert.equal(hearing.length, 12)
  for (const one of hearing) {
    const wanted = good[one.id]
    const path = one.id === 'putFlowsFlow' ? '/v1/flows/clicks' : one.path
    const how = wanted?.body === undefined ? {} : { body: wanted.body }
    const before = api.coordination.tree.read('/flows/clicks')?.tag
    const told = await api.ask(one.method, path, { ...how, headers: { 'if-match': '"12345"' } })
    assert.equal(told.status, 412, `${one.id}: ${told.text}`)
    assert.equal(told.json['code'], 'stale')
    assertFits(document, one, told)
    if (path.startsWith('/v1/flows/clicks/') && !path.endsWith('move')) {
      assert.equal(told.headers.get('etag'), `"${before}"`, one.id)
      assert.equal(told.json['etag'], `"${before}"`, one.id)
    }
    assert.equal(api.coordination.tree.read('/flows/clicks')?.tag, before)
  }
})
