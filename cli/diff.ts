import { cell } from './cells.ts'
import { changesOf, declaredNow } from './declared.ts'
import { readFlowsFile } from './flowsFile.ts'
import type { Given } from './noun.ts'
import type { Said } from './said.ts'
import { usage } from './usage.ts'

const isDifferent = 1

/** `millrace diff -f FILE`: what `apply` would change; 1 when it would change something. */
export async function diff({ api, flags, io }: Given): Promise<Said> {
  const file = await readFlowsFile(io, flags.file, 'millrace diff -f flows.yaml')
  if (file.is === 'export')
    throw usage('a state that was exported is only given back', 'millrace apply -f state.json --create-only')
  const found: { flow: string; is: string; origin: string | null; changes: string[] }[] = []
  for (const one of file.flows) {
    const before = await declaredNow(api, one.flow)
    const changes = changesOf(before, one)
    const is = before?.deleting ? 'deleting' : before === null ? 'new' : changes.length === 0 ? 'same' : 'different'
    found.push({ flow: one.flow, is, origin: before?.origin ?? null, changes })
  }
  const different = found.filter(({ is }) => is !== 'same')
  return {
    json: JSON.stringify({ flows: found }),
    names: different.map(({ flow }) => flow),
    text: () => found.map(diffText).join(''),
    ...(different.length > 0 ? { code: isDifferent } : {}),
  }
}

export function diffText({ flow, is, changes }: { flow: string; is: string; changes: readonly string[] }): string {
  return `${cell(flow)}: ${is}\n${changes.map(line => `  ${line}\n`).join('')}`
}
