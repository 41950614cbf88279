import type { Flow } from './answers.ts'
import { apiPath } from './apiClient.ts'
import { asItWasRead } from './asItWasRead.ts'
import { plural } from './cells.ts'
import type { Given } from './noun.ts'
import { placeOf } from './place.ts'
import { done, type Said, wouldSend } from './said.ts'

/** `millrace delete FLOW`: the one that was read, and not what somebody made of it meanwhile (C-100). */
export async function deleteFlow({ api, args, flags }: Given): Promise<Said> {
  const { flow } = placeOf(args[0] ?? '', { min: 1, max: 1 })
  const path = apiPath('flows', flow)
  const before = (await api.ask({ method: 'GET', path })).json as Flow
  const request = { method: 'DELETE', path, ifMatch: before.etag } as const
  if (flags.dryRun) {
    const said = wouldSend(request, [flow])
    return {
      ...said,
      text: () => `${said.text(false)}${before.held === null ? '' : `${plural(before.held, 'unit')} would stop\n`}`,
    }
  }
  const answer = await asItWasRead(api, request, `flow ${flow}`)
  const { held, unchanged } = answer.json as { held: number; unchanged: boolean }
  const running =
    held === 0 ? 'nothing of it runs' : `${plural(held, 'unit')} of it still ${held === 1 ? 'runs' : 'run'}`
  const said = unchanged ? 'was being deleted already' : 'is being deleted'
  return done(answer, `flow ${flow} ${said}; ${running}; its offsets stay in Kafka`, [flow])
}
