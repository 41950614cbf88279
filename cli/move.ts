import { type ApiRequest, apiPath } from './apiClient.ts'
import type { Given } from './noun.ts'
import { partitionOf } from './place.ts'
import { done, type Said, wouldSend } from './said.ts'
import { usage } from './usage.ts'

const example = 'millrace move clicks/orders/3 --to WORKER'

/** `millrace move FLOW/TOPIC/PARTITION --to WORKER` (C-39). */
export async function move({ api, args, flags }: Given): Promise<Said> {
  const name = args[0] ?? ''
  const { flow, topic, partition } = partitionOf(name)
  const { to = null, anywhere = false } = flags
  if (to === null && !anywhere) throw usage('missing: --to WORKER, or --anywhere', example)
  if (to !== null && anywhere) throw usage('--to and --anywhere: one too many', example)
  const path = apiPath('flows', flow, 'partitions', topic, partition, 'move')
  const request: ApiRequest = { method: 'POST', path, body: { to } }
  if (flags.dryRun) return wouldSend(request, [name])
  const answer = await api.ask(request)
  const { unchanged } = answer.json as { unchanged: boolean }
  const asked = to === null ? `${name} may be anywhere again` : `${name} goes to ${to}`
  return done(answer, unchanged ? `${asked}: that was asked already` : asked, [name])
}
