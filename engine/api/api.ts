import { z } from 'zod'
import { balancingRoutes } from './balancing.ts'
import { flowRoutes } from './flows.ts'
import { healthRoutes } from './health.ts'
import { offsetRoutes } from './offsets.ts'
import { openapiOf } from './openapi.ts'
import { partitionListRoutes } from './partitionList.ts'
import { partitionRoutes } from './partitions.ts'
import { partitionWishRoutes } from './partitionWishes.ts'
import type { ApiParts } from './parts.ts'
import { pauseRoutes } from './pause.ts'
import { previewRoutes } from './preview.ts'
import { type Route, route } from './route.ts'
import { startServer } from './server.ts'
import { stateRoutes } from './state.ts'
import { statusRoutes } from './status.ts'
import { topicRoutes } from './topics.ts'
import { workerRoutes } from './workers.ts'

const nouns: readonly Route[] = [
  ...statusRoutes,
  ...flowRoutes,
  ...previewRoutes,
  ...topicRoutes,
  ...pauseRoutes,
  ...offsetRoutes,
  ...partitionListRoutes,
  ...partitionRoutes,
  ...partitionWishRoutes,
  ...workerRoutes,
  ...balancingRoutes,
  ...stateRoutes,
  ...healthRoutes,
]

/**
 * The controller's HTTP API (DESIGN §8, COORDINATION §9). Gives where it listens, and how to end it: what is under way
 * is answered. Rejects with `config-invalid` where it may not, or cannot, listen.
 */
export function startApi(parts: ApiParts): Promise<{ url: string; close(): Promise<void> }> {
  const routes: Route[] = [...nouns]
  let text: string | null = null
  routes.push(
    route({
      method: 'GET',
      path: '/openapi.json',
      role: 'viewer',
      summary: 'This document',
      answers: { 200: z.looseObject({ openapi: z.string() }) },
      async handle() {
        text ??= JSON.stringify(openapiOf(routes, { version: parts.version, isOpen: parts.auth === null }))
        return { status: 200, type: 'application/json; charset=utf-8', text }
      },
    }),
  )
  return startServer(parts, routes)
}
