import { type ApiRequest, apiPath } from './apiClient.ts'
import type { Given } from './noun.ts'
import { done, type Said, wouldSend } from './said.ts'
import { usage } from './usage.ts'

/** `millrace balancing [on|off]` (C-39). */
export async function balancing({ api, args, flags }: Given): Promise<Said> {
  const [word] = args
  if (word === undefined) {
    const answer = await api.ask({ method: 'GET', path: apiPath('balancing') })
    const { auto, rebalance } = answer.json as { auto: boolean; rebalance: number }
    const asked = rebalance > 0 ? '; a rebalance is asked for' : ''
    return done(answer, `balancing is ${auto ? 'on' : 'off'}${asked}`, [auto ? 'on' : 'off'])
  }
  if (word !== 'on' && word !== 'off') throw usage(`expected on or off, found '${word}'`, 'millrace balancing off')
  const request: ApiRequest = { method: 'PUT', path: apiPath('balancing'), body: { auto: word === 'on' } }
  if (flags.dryRun) {
    const { auto } = (await api.ask({ method: 'GET', path: apiPath('balancing') })).json as { auto: boolean }
    return wouldSend(request, [word], `balancing is ${auto ? 'on' : 'off'} now`)
  }
  const answer = await api.ask(request)
  const { unchanged } = answer.json as { unchanged: boolean }
  return done(answer, unchanged ? `balancing was ${word} already` : `balancing is ${word} now`, [word])
}

/** `millrace rebalance`. */
export async function rebalance({ api, flags }: Given): Promise<Said> {
  const request: ApiRequest = { method: 'POST', path: apiPath('rebalance') }
  if (flags.dryRun) return wouldSend(request, [])
  const answer = await api.ask(request)
  return done(answer, 'loads are evened out by the next rounds: millrace plan shows them', [])
}
