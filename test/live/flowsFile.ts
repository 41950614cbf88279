import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A configuration of `clusters` for `millrace run`, by name their bootstrap addresses; it goes with the test. */
export function flowsFile(t: TestContext, clusters: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-flows-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'millrace.yaml')
  const brokers = Object.entries(clusters).map(([name, list]) => [name, { brokers: list.split(',') }])
  const writeText = (text: string) => {
    // As an editor does it: nobody sees half a file.
    writeFileSync(`${path}.new`, text)
    renameSync(`${path}.new`, path)
  }
  return {
    path,
    writeText,
    /** JSON is YAML too. `blocks`: what stands beside clusters and flows. */
    write: (flows: Record<string, unknown>, blocks: Record<string, unknown> = {}) =>
      writeText(JSON.stringify({ clusters: Object.fromEntries(brokers), ...blocks, flows }, null, 2)),
  }
}

/** A mirror from east to west as it stands in a file, which looks each second. */
export function mirrorFlow(topics: string[], more: Record<string, unknown> = {}): Record<string, unknown> {
  return { kind: 'mirror', from: 'east', to: 'west', topics: { include: topics, refreshMs: 1_000 }, ...more }
}
