import { z } from 'zod'
import type { Route } from './route.ts'
import { jsonSchemaOf } from './words.ts'

/** What every refusal says (RFC 9457). */
const problem = z.strictObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string().describe('docs/errors.md has a row for each'),
  hint: z.string().nullable(),
  requestId: z.string(),
  errors: z
    .array(z.strictObject({ path: z.string(), found: z.string(), expected: z.string(), hint: z.string().nullable() }))
    .optional(),
  etag: z.string().optional().describe('the tag that the document has now'),
  leader: z.string().nullable(),
  epoch: z.int().nullable(),
  asOf: z.iso.datetime(),
})

type Json = Record<string, unknown>

const patterns: Record<string, Json> = {
  flow: { type: 'string', pattern: '^[a-z0-9][a-z0-9-]{0,62}$' },
  topic: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,249}$' },
  partition: { type: 'integer', minimum: 0 },
  id: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
}

/** OpenAPI 3.1 from the schemas that check the requests, so that it cannot say anything else (DESIGN §8). */
export function openapiOf(routes: readonly Route[], of: { version: string; isOpen: boolean }): Json {
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = paths[route.path] ?? {}
    paths[route.path] = path
    path[route.method.toLowerCase()] = operationOf(route, of.isOpen)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Millrace', version: of.version },
    paths,
    components: {
      schemas: { Problem: jsonSchemaOf(problem, 'output') },
      responses: {
        Problem: {
          description: 'why it is refused',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'a token of the secret api.tokens' } },
    },
  }
}

function operationOf(route: Route, isOpen: boolean): Json {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(match => match[1] ?? '')
  const query = jsonSchemaOf(route.query)['properties'] as Record<string, Json>
  const headers = route.matches ? ['If-Match', 'If-None-Match'] : []
  const parameters = [
    ...names.map(name => ({ name, in: 'path', required: true, schema: patterns[name] ?? { type: 'string' } })),
    ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', required: false, schema })),
    ...headers.map(name => ({ name, in: 'header', required: false, schema: { type: 'string' } })),
  ]
  return {
    operationId: idOf(route),
    summary: route.summary,
    parameters,
    ...(route.body === null ? {} : { requestBody: bodyOf(route.body) }),
    responses: {
      ...Object.fromEntries(Object.entries(route.answers).map(([status, schema]) => [status, responseOf(schema)])),
      default: { $ref: '#/components/responses/Problem' },
    },
    security: route.role === null || isOpen ? [] : [{ token: [] }],
    'x-role': route.role,
  }
}

function bodyOf(schema: z.ZodType): Json {
  const required = !schema.safeParse(undefined).success
  return { required, content: { 'application/json': { schema: jsonSchemaOf(schema) } } }
}

function responseOf(schema: z.ZodType | null): Json {
  if (schema === null) return { description: 'as text', content: { 'text/plain': { schema: { type: 'string' } } } }
  return { description: 'done', content: { 'application/json': { schema: jsonSchemaOf(schema, 'output') } } }
}

/** `getFlowsFlowTopics` */
function idOf({ method, path }: Route): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter(word => word !== '' && word !== 'v1')
  return method.toLowerCase() + words.map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
