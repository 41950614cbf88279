import { MillraceError } from '../engine/errors.ts'
import type { Partition } from './answers.ts'
import { type ApiAnswer, type ApiClient, type ApiRequest, apiPath } from './apiClient.ts'
import { refusalOf } from './apiProblem.ts'
import { cell } from './cells.ts'
import type { Given } from './noun.ts'
import { partitionOf } from './place.ts'
import { done, type Said, wouldSend } from './said.ts'
import { usage } from './usage.ts'

const example = 'millrace move clicks/orders/3 --to WORKER'

/** `millrace move FLOW/TOPIC/PARTITION --to WORKER` (C-39). */
export async function move({ api, args, flags }: Given): Promise<Said> {
  const name = args[0] ?? ''
  const { flow, topic, partition } = partitionOf(name, example)
  const { to = null, anywhere = false } = flags
  const [, worker] = args
  if (worker !== undefined) throw usage(`'${worker}': did you mean --to ${worker}?`, example)
  if (to === null && !anywhere) throw usage('missing: --to WORKER, or --anywhere', example)
  if (to !== null && anywhere) throw usage('--to and --anywhere: one too many', example)
  const path = apiPath('flows', flow, 'partitions', topic, partition, 'move')
  const request: ApiRequest = { method: 'POST', path, body: { to } }
  if (flags.dryRun) {
    if (to !== null) await api.ask({ method: 'GET', path: apiPath('workers', to) })
    const at = apiPath('flows', flow, 'partitions', topic, partition)
    const { worker: owner } = (await api.ask({ method: 'GET', path: at })).json as Partition
    return wouldSend(request, [name], owner === null ? 'nobody has it now' : `${cell(owner)} has it now`)
  }
  const answer = await moved(api, request)
  const { unchanged } = answer.json as { unchanged: boolean }
  const asked = to === null ? `${name} may be anywhere again` : `${name} goes to ${to}`
  return done(answer, unchanged ? `${asked}: that was asked already` : asked, [name])
}

/** What is wrong with the worker is said of the flag that named it. */
async function moved(api: ApiClient, request: ApiRequest): Promise<ApiAnswer> {
  const told = await api.tell(request)
  if (told.ok) return told.answer
  const fault = told.problem.errors.find(one => one.path === 'to')
  if (fault === undefined) throw refusalOf(told.problem)
  throw new MillraceError('config-invalid', `--to: found ${fault.found}, expected ${fault.expected}`, {
    hint: fault.hint ?? 'millrace workers lists them',
  })
}
