import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { commandLine } from './cli/commandLine.ts'

const text = readFileSync(new URL('../docs/runbook.md', import.meta.url), 'utf8')
const sections = text.split(/^## /m).slice(1)

test('each section of the runbook has a description, an investigation and a resolution', () => {
  for (const section of sections) {
    const words = ['Description', 'Investigation', 'Resolution'].map(word => section.indexOf(`**${word}.**`))
    assert.ok(
      words.every((at, i) => at > (words[i - 1] ?? 0)),
      section.slice(0, 40),
    )
  }
})

test('what leaders and workers say of themselves has its section', () => {
  const codes = ['release-slow', 'worker-ejected', 'worker-quarantined', 'no-leader', 'fenced', 'id-taken', 'deposed']
  const more = ['coordination-unreachable', 'coordination-denied', 'state-corrupt', 'state-version', 'store-full']
  const titles = sections.map(section => section.split('\n')[0])
  for (const code of [...codes, ...more]) assert.ok(titles.includes(code), code)
})

test('a link inside the runbook leads somewhere', () => {
  const anchors = sections.map(section => (section.split('\n')[0] ?? '').toLowerCase().replaceAll(/[^\w -]/g, ''))
  for (const [, anchor] of text.matchAll(/\]\(#([^)]+)\)/g))
    assert.ok(anchors.map(one => one.replaceAll(' ', '-')).includes(anchor ?? ''), anchor)
})

test('commands of the runbook are commands, with flags that they have', async () => {
  const typed = [...text.matchAll(/(?:^|`)millrace ([^`\n]+)/gm)].map(([, line]) => line ?? '')
  assert.ok(typed.length > 10)
  for (const line of typed) {
    // Nothing listens there: that it is asked at all says that the words were taken.
    const [name = ''] = line.split(' ')
    if (name === 'config') continue
    const { code, err } = await commandLine(line.split(' '), { api: 'http://127.0.0.1:1', token: null })
    assert.ok(code !== 2 || /flows\.yaml|state\.json/.test(err), `${line}: ${err}`)
  }
})
