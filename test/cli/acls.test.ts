import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'millrace-acls-'))
after(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'flows.yaml')
writeFileSync(
  file,
  `clusters:
  east: { brokers: ["e1:1", "[::1]:2"] }
  west: { brokers: ["w:1"] }
flows:
  clicks: { kind: mirror, from: east, to: west, topics: { names: [orders] }, naming: { prefix: "e." }, loopGuard: "off" }
`,
)

function acls(...args: string[]): { code: number | null; out: string; err: string } {
  const run = spawnSync(process.execPath, [join(root, 'cli/start.mjs'), 'mirror', 'acls', ...args], {
    encoding: 'utf8',
  })
  return { code: run.status, out: run.stdout, err: run.stderr }
}
// Nothing listens on these ports, and who asks is told so at once.
const clusters = ['--from', '127.0.0.1:1', '--to', '127.0.0.1:2']

test('commands for both clusters, quoted for a shell, under a line that says which cluster it is', () => {
  const { code, out, err } = acls('--needed', ...clusters, '--topics', '.*', '--name', 'f', '--principal', "User:o'x")
  assert.deepEqual([code, err], [0, ''])
  const [from, to] = ['127.0.0.1:1', '127.0.0.1:2'].map(
    broker => `kafka-acls.sh --bootstrap-server ${broker} --add --allow-principal 'User:o'\\''x'`,
  )
  assert.deepEqual(out.trimEnd().split('\n'), [
    '# source',
    '# A pattern begins with no fixed text, so it takes every topic:',
    `${from} --operation Read --operation DescribeConfigs --topic '*'`,
    `${from} --operation Read --group millrace.f`,
    '# destination',
    '# A pattern begins with no fixed text, so it takes every topic:',
    `${to} --operation Write --operation Create --operation Alter --operation AlterConfigs --topic '*'`,
    `${to} --operation Read --topic millrace.mirror.f`,
  ])
})

test('where no cluster answers it prints all the same, with a place for the name of the flow', () => {
  const { code, out } = acls('--needed', ...clusters, '--topics', 'clicks\\..*', '--naming', 'e.', '--no-create')
  assert.equal(code, 0)
  assert.match(out, /^# The clusters do not both answer, so put the name of the flow for <flow>, or say --name\.\n/)
  assert.match(out, /--operation Read --group 'millrace\.<flow>'\n/)
  assert.match(out, /--operation Write --operation AlterConfigs --topic e\.clicks\. --resource-pattern-type prefixed\n/)
})

test('a flow of a file, by its name, as lists', () => {
  const { code, out, err } = acls('--needed', '-c', file, 'clicks', '-o', 'json')
  assert.deepEqual([code, err], [0, ''])
  assert.deepEqual(JSON.parse(out), {
    flow: 'clicks',
    principal: 'User:millrace',
    source: {
      cluster: 'east',
      bootstrap: 'e1:1,[::1]:2',
      acls: [
        { resource: 'topic', name: 'orders', pattern: 'literal', operations: ['Read', 'DescribeConfigs'] },
        { resource: 'group', name: 'millrace.clicks', pattern: 'literal', operations: ['Read'] },
      ],
    },
    destination: {
      cluster: 'west',
      bootstrap: 'w:1',
      acls: [
        {
          resource: 'topic',
          name: 'e.orders',
          pattern: 'literal',
          operations: ['Write', 'Create', 'Alter', 'AlterConfigs'],
        },
      ],
    },
  })
  assert.match(acls('--needed', '-c', file, 'clicks').out, /^# source east\n.*\n.*\n# destination west\n/)
})

test('what cannot be printed is refused with what would be right', () => {
  const table: [code: number, says: RegExp, ...args: string[]][] = [
    [2, /without --needed: not in this version/, ...clusters, '--topics', 'a'],
    [2, /missing: --topics PATTERN/, '--needed', ...clusters],
    [2, /--naming: found 'a b'/, '--needed', ...clusters, '--topics', 'a', '--name', 'f', '--naming', 'a b'],
    [2, /--principal: expected TYPE:NAME, found 'me'/, '--needed', ...clusters, '--topics', 'a', '--principal', 'me'],
    [2, /--output: expected json, found 'table'/, '--needed', ...clusters, '--topics', 'a', '-o', 'table'],
    [2, /--topics: not with -c/, '--needed', '-c', file, 'clicks', '--topics', 'a'],
    [2, /missing: the name of a flow/, '--needed', '-c', file],
    [4, /has no flow 'click'\n {2}did you mean clicks\?/, '--needed', '-c', file, 'click'],
  ]
  for (const [code, says, ...args] of table) {
    const ended = acls(...args)
    assert.deepEqual([ended.code, ended.out], [code, ''], args.join(' '))
    assert.match(ended.err, says)
  }
})
