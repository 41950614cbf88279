import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { nodeFlags } from '../cli/nodeFlags.ts'
import { readTree, root } from './tidy/tree.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const documents = readTree().filter(source => source.path.endsWith('.md') && source.path !== 'CHANGELOG.md')
const own = documents.filter(
  source => !/^docs\/design\/[A-Z-]+\.md$/.test(source.path) || source.path.endsWith('README.md'),
)

test('every npm script that the documents name exists', () => {
  const scripts = Object.keys(JSON.parse(read('package.json')).scripts)
  const named = own.flatMap(({ path, text }) =>
    [...text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(match => ({ path, script: match[1] ?? '' })),
  )
  assert.ok(named.length > 3)
  for (const { path, script } of named) assert.ok(scripts.includes(script), `${path}: npm run ${script}`)
})

test('every command of ./dev that the documents name exists', () => {
  const commands = [...read('dev').matchAll(/^ {2}([a-z]+)(?: \|[^)]*)?\)/gm)].map(match => match[1])
  for (const { path, text } of own) {
    for (const match of text.matchAll(/\.\/dev ([a-z]+)/g)) {
      assert.ok(commands.includes(match[1]), `${path}: ./dev ${match[1]}`)
    }
  }
})

test('every path in the file map of ARCHITECTURE.md exists', () => {
  const map = /## File map\n([\s\S]*?)\n## /.exec(read('ARCHITECTURE.md'))?.[1] ?? ''
  const rows = [...map.matchAll(/^\| `([^`]+)` \| (.*) \|$/gm)]
  assert.ok(rows.length > 10)
  for (const [, path = '', what = ''] of rows) {
    assert.ok(existsSync(join(root, path)), path)
    for (const [, name = ''] of what.matchAll(/`([\w./-]+\.(?:ts|md|sh))`/g)) {
      const places = [join(root, path, name), join(root, dirname(path), name), join(root, name)]
      assert.ok(
        places.some(place => existsSync(place)),
        `${path}: ${name}`,
      )
    }
  }
})

test('every link between the documents leads to a file', () => {
  for (const { path, text } of own) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)#:]+)\)/g)) {
      assert.ok(existsSync(join(root, dirname(path), target)), `${path}: ${target}`)
    }
  }
})

test('the command, its npm script and those who start it by hand give Node the same flags', () => {
  const flags = nodeFlags.join(' ')
  assert.equal(read('cli/start.mjs').split('\n')[0], `#!/usr/bin/env -S node ${flags}`)
  assert.equal(JSON.parse(read('package.json')).scripts.millrace, `node ${flags} cli/start.mjs`)
})
