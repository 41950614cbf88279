import { z } from 'zod'
import { paths } from '../fleet/decide/documents/paths.ts'
import { wishedOf, writeExport } from '../fleet/decide/export.ts'
import { type Ask, type Route, route } from './route.ts'

const object = z.record(z.string(), z.unknown())

export const stateRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/state',
    role: 'viewer',
    summary: 'The export: flows, wishes and log levels as they are, for millrace apply (C-104)',
    answers: {
      200: z.strictObject({
        atMs: z.int(),
        epoch: z.int(),
        flows: z.record(z.string(), object),
        logging: object.nullable(),
        v: z.literal(1),
        wishes: object.nullable(),
      }),
    },
    handle: getState,
  }),
]

/** The documents alone, for it is a file that is given back: who led stands in the headers. */
async function getState({ parts, seen }: Ask) {
  const names = await seen.children(paths.flows)
  const wanted = [paths.epoch, paths.wishes, paths.logging, ...names.map(name => paths.flow(name))]
  const documents = new Map<string, string>()
  for (const [path, node] of await Promise.all(wanted.map(async path => [path, await seen.read(path)] as const))) {
    if (node) documents.set(path, node.data)
  }
  const wished = wishedOf(documents, parts.leader()?.epoch ?? 0)
  const text = writeExport({ ...wished, atMs: seen.asOfMs(), rest: new Map() })
  return { status: 200, type: 'application/json; charset=utf-8', text }
}
