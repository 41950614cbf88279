import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'

/**
 * A scenario as text: a command, `----`, and all that follows from it, up to an empty line; `#` begins a comment.
 * `run` gives the lines that follow from a command. The whole trace must be as it is written.
 */
export async function playScript(file: URL, run: (command: string) => string[] | Promise<string[]>): Promise<void> {
  const expected = await readFile(file, 'utf8')
  const played: string[] = []
  for (const block of expected.trimEnd().split(/\n\n+/)) {
    const lines = block.split('\n')
    const comments = lines.filter(line => line.startsWith('#'))
    const [command] = lines.filter(line => !line.startsWith('#'))
    if (command === undefined) played.push(comments.join('\n'))
    else played.push([...comments, command, '----', ...(await run(command))].join('\n'))
  }
  assert.equal(`${played.join('\n\n')}\n`, expected)
}
