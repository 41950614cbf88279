import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { command, paperFleet } from './reconcileScript.ts'
import { runScript } from './scripts.ts'

const folder = new URL('./scripts/', import.meta.url)

function plays(name: string): void {
  const paper = paperFleet()
  const { found, expected } = runScript(new URL(name, folder).pathname, line => command(paper, line))
  assert.equal(found, expected)
}

test('COORDINATION 5: a worker that never stops one unit is named after 30 s and ejected after 60 s', () =>
  plays('reconcile-slow.txt'))

for (const name of readdirSync(folder).filter(file => file.startsWith('reconcile-'))) {
  test(`the rounds of a leader are as ${name} tells`, () => plays(name))
}
