import { RE2JS } from 're2js'
import { MillraceError } from '../errors.ts'
import { nearNamesMax } from '../limits.ts'
import { distance } from './nearest.ts'

/**
 * The `not-found` of patterns that select no topic. Its hint gives the names that somebody who wrote them may have
 * meant: those that match and were left out, else those that match in a part or with other capitals, else those that
 * are spelt nearly so. The patterns are of the rules that `selection` took.
 */
export function noTopic(include: readonly string[], topics: readonly { topic: string; internal: boolean }[]) {
  const patterns = include.map(pattern => RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE))
  const names = topics.filter(({ internal }) => !internal).map(({ topic }) => topic)
  const exact = include.map(pattern => RE2JS.compile(pattern))
  const leftOut = names.filter(name => exact.some(pattern => pattern.testExact(name)))
  // One that is found in nothing is found in everything, and says nothing of what was meant.
  const telling = patterns.filter(pattern => !pattern.test(''))
  const inPart = names.filter(name => telling.some(pattern => pattern.test(name)))
  const near = inPart.length > 0 ? inPart : names.filter(name => include.some(pattern => isNear(pattern, name)))
  const whole = 'the pattern must match the whole name of a topic that exists at the source, capitals told apart'
  let hint = whole
  if (leftOut.length > 0) hint = `${shown(leftOut)}: matched, and excluded or reserved`
  else if (near.length > 0) hint = `${whole}; near it: ${shown(near)}`
  const said = include.map(pattern => `'${pattern}'`).join(', ')
  return new MillraceError('not-found', `no topic of the source is selected by ${said}`, { hint })
}

function shown(names: readonly string[]): string {
  const some = names.toSorted().slice(0, nearNamesMax).join(', ')
  return names.length > nearNamesMax ? `${some} and ${names.length - nearNamesMax} more` : some
}

/** At most every fourth character differs. */
function isNear(pattern: string, name: string): boolean {
  const mayDiffer = Math.floor(name.length / 4)
  if (Math.abs(pattern.length - name.length) > mayDiffer) return false
  return distance(pattern.toLowerCase(), name.toLowerCase()) <= mayDiffer
}
