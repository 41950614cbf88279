import type { Partition } from './answers.ts'
import { type ApiRequest, apiPath } from './apiClient.ts'
import { plural } from './cells.ts'
import type { Given } from './noun.ts'
import { partitionOf } from './place.ts'
import { done, type Said, wouldSend } from './said.ts'
import { usage } from './usage.ts'

const example = 'millrace skip clicks/orders/3 --offset 4711 --records 1'

/** `millrace skip FLOW/TOPIC/PARTITION --offset N --records 1` (M-94): only where the partition fails now. */
export async function skip({ api, args, flags }: Given): Promise<Said> {
  const name = args[0] ?? ''
  const { flow, topic, partition } = partitionOf(name, example)
  const offset = offsetOf('--offset', flags.offset)
  const records = Number(flags.records ?? '1')
  if (!Number.isSafeInteger(records) || records < 1) {
    throw usage(`--records: expected a number from 1, found '${flags.records}'`, example)
  }
  const path = apiPath('flows', flow, 'partitions', topic, partition, 'skip')
  const request: ApiRequest = { method: 'POST', path, body: { offset, records } }
  if (flags.dryRun) {
    const at = apiPath('flows', flow, 'partitions', topic, partition)
    const { state, error } = (await api.ask({ method: 'GET', path: at })).json as Partition
    return wouldSend(request, [name], `now: ${state}${error?.offset == null ? '' : ` at offset ${error.offset}`}`)
  }
  const answer = await api.ask(request)
  const { unchanged, failsAt } = answer.json as { unchanged: boolean; failsAt: string | null }
  const passes = `${plural(records, 'record')} from offset ${offset}`
  // Nothing is passed over before it fails there (M-94).
  const said =
    failsAt === null
      ? `${name} is not known to be in error: it passes over ${passes} if it comes to fail there`
      : `${name} passes over ${passes}`
  return done(answer, unchanged ? `${said}: that was asked already` : said, [name])
}

/** A number while it is exact, else its digits. */
function offsetOf(flag: string, text: string | undefined): number | string {
  if (text === undefined) throw usage(`missing: ${flag} N`, example)
  if (!/^(0|[1-9]\d{0,18})$/.test(text)) throw usage(`${flag}: expected an offset, found '${text}'`, example)
  return Number.isSafeInteger(Number(text)) ? Number(text) : text
}
