import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { completables } from '../../cli/completion.ts'
import { processIo } from '../../cli/io.ts'
import { programOf } from '../../cli/program.ts'
import { commandLine } from './commandLine.ts'

const all = completables(programOf({ io: processIo(), exit: async () => {} }))

const folder = mkdtempSync(join(tmpdir(), 'millrace-completion-'))
after(() => rmSync(folder, { recursive: true }))

test('each command and each flag is in the completion of each shell', async () => {
  assert.ok(all.length > 30)
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    const { code, out } = await commandLine(['completion', shell])
    assert.equal(code, 0)
    for (const { path, flags, below } of all) {
      const part = sectionOf(shell, out, path)
      for (const { name } of below)
        assert.match(part, new RegExp(`(^|[ "'])${name}([ ":']|$)`, 'm'), `${shell} ${path} ${name}`)
      for (const { long, short } of flags) {
        const names =
          shell === 'fish'
            ? [`-l ${long.slice(2)}`, ...(short ? [`-s ${short.slice(1)}`] : [])]
            : [long, ...(short ? [short] : [])]
        for (const name of names) assert.ok(part.includes(name), `${shell} ${path} ${name}`)
      }
    }
  }
  assert.equal((await commandLine(['completion', 'tcsh'])).code, 2)
})

/** What is said of one command. */
function sectionOf(shell: 'bash' | 'zsh' | 'fish', out: string, path: string): string {
  if (shell === 'fish')
    return out
      .split('\n')
      .filter(line => line.includes(`= "${path}"`))
      .join('\n')
  const from = out.indexOf(`\n    '${path}')\n`)
  assert.notEqual(from, -1, `${shell} ${path}`)
  return out.slice(from, out.indexOf(`${shell === 'bash' ? 'esac' : ''} ;;\n    '`, from) + 1 || undefined)
}

/** What bash offers for the last word; a stand-in for the command knows some flows. */
async function offered(...words: string[]): Promise<string[]> {
  const { out: script } = await commandLine(['completion', 'bash'])
  const file = join(folder, 'script')
  const asked = words.map(word => `'${word}'`).join(' ')
  const knows =
    "millrace() { [ \"$*\" = 'flows -o name' ] && printf 'clicks\\nviews\\n'; [ \"$*\" = 'workers -o name' ] && echo w-1; }"
  writeFileSync(
    file,
    `${script}${knows}\nCOMP_WORDS=(millrace ${asked}); COMP_CWORD=${words.length}; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"\n`,
  )
  const ran = spawnSync('bash', ['--norc', file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  assert.equal(ran.stderr, '')
  return ran.stdout.split('\n').filter(line => line !== '')
}

test('bash completes commands, flags, closed lists and names of the fleet', async () => {
  assert.deepEqual(await offered('pa'), ['partitions', 'pause'])
  assert.deepEqual(await offered('topics', ''), ['add', 'remove', 'forget', 'clicks', 'views'])
  assert.deepEqual(await offered('topics', 'add', 'v'), ['views'])
  assert.deepEqual(await offered('topics', '--api', 'http://x', 'add', '--dr'), ['--dry-run'])
  assert.deepEqual(await offered('drain', ''), ['w-1'])
  assert.deepEqual(await offered('move', 'clicks/a/0', '--to', ''), ['w-1'])
  assert.deepEqual(await offered('balancing', 'o'), ['on', 'off'])
  assert.deepEqual(await offered('flows', '-o', 'j'), ['json'])
  assert.deepEqual(await offered('offsets', 'reset', 'clicks', '--to', 'e'), ['earliest'])
  assert.deepEqual(await offered('completion', ''), ['bash', 'zsh', 'fish'])
})
