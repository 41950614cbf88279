import { RigError } from './errors.ts'
import type { Words } from './part.ts'

/** What the command line asks for (RIG §3). */
export type Command =
  | { kind: 'set'; wishes: PartWish[]; json: boolean; run: string[] | null }
  | { kind: 'cache'; prune: boolean }
  | { kind: 'doctor'; fresh: boolean }

/** One part as it was typed: `kafka:west=3,proxied` has the key `west`. */
export type PartWish = { part: string; key: string; words: Words }

export const usage = `usage: npm run rig -- <part> … [--json] [-- command …]
  part: name[:key][=count][,option…]   kafka zookeeper   kafka:east kafka:west=3,sasl-plaintext,proxied
  cache [--prune]    doctor [--fresh]`

/** Pure; throws `rig-usage`. `known` are the names of the parts. */
export function parseCommand(argv: string[], known: string[]): Command {
  const dashes = argv.indexOf('--')
  const run = dashes < 0 ? null : argv.slice(dashes + 1)
  const words = dashes < 0 ? argv : argv.slice(0, dashes)
  const flags = words.filter(word => word.startsWith('--'))
  const names = words.filter(word => !word.startsWith('--'))
  const allow = (...allowed: string[]) => {
    const odd = flags.find(flag => !allowed.includes(flag))
    if (odd !== undefined) throw new RigError('rig-usage', `unknown option ${odd}`, { hint: usage })
  }
  if (names[0] === 'cache' && names.length === 1) {
    allow('--prune')
    return { kind: 'cache', prune: flags.length > 0 }
  }
  if (names[0] === 'doctor' && names.length === 1) {
    allow('--fresh')
    return { kind: 'doctor', fresh: flags.length > 0 }
  }
  allow('--json')
  if (names.length === 0) throw new RigError('rig-usage', 'no part is named', { hint: usage })
  if (run?.length === 0) throw new RigError('rig-usage', 'no command after --', { hint: usage })
  const wishes = names.map(name => parsePart(name, known))
  const keys = wishes.map(wish => wish.key)
  const twice = keys.find((key, at) => keys.indexOf(key) !== at)
  if (twice !== undefined)
    throw new RigError('rig-usage', `two parts are called ${twice}`, { hint: 'give them keys: kafka:east kafka:west' })
  return { kind: 'set', wishes, json: flags.length > 0, run }
}

function parsePart(typed: string, known: string[]): PartWish {
  const [head = '', ...options] = typed.split(',')
  const [name = '', count] = head.split('=')
  const [part = '', key = part] = name.split(':')
  if (!known.includes(part)) throw unknownPart(part, known)
  if (!/^[A-Za-z][\w-]*$/.test(key))
    throw new RigError('rig-usage', `${typed}: no key after the colon`, { hint: usage })
  if (count !== undefined && !/^\d+$/.test(count))
    throw new RigError('rig-usage', `${typed}: ${count} is not a number`, { hint: usage })
  const words: Words = { count: count === undefined ? null : Number(count), flags: [], values: {} }
  for (const option of options) {
    const at = option.indexOf('=')
    if (at < 0) words.flags.push(option)
    else words.values[option.slice(0, at)] = option.slice(at + 1)
  }
  return { part, key, words }
}

function unknownPart(part: string, known: string[]): RigError {
  const near = known.find(name => lettersApart(name, part) <= 2)
  const hint = near === undefined ? usage : `did you mean ${near}?`
  return new RigError('rig-usage', `unknown part ${part}; known: ${known.join(', ')}`, { hint })
}

/** Levenshtein: letters added, left out or exchanged. `kafak` is 2 from `kafka`. */
function lettersApart(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, at) => at)
  for (const [above, letter] of [...left].entries()) {
    const next = [above + 1]
    for (const [at, other] of [...right].entries())
      next.push(Math.min((row[at] ?? 0) + (letter === other ? 0 : 1), (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1))
    row = next
  }
  return row[right.length] ?? 0
}
