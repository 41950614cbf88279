import { MillraceError } from '../../errors.ts'
import { compile } from '../../flow/pattern.ts'
import { neverSelected, type Selection } from '../../flow/select.ts'
import { patternsMax } from '../../limits.ts'
import type { Naming } from '../spec.ts'

export type Refusal = { message: string; hint: string | null }
/** Both by source topic; each topic that was asked about is in one of the two. */
export type DestinationNames = { names: Map<string, string>; refused: Map<string, Refusal> }

/**
 * What each selected topic is called at the destination, or why it is refused (M-20). `existing` = names of all
 * topics of the destination, those of others too. `oneCluster` = the flow's selection when source and destination are
 * one cluster (M-21), else null. Throws `config-invalid` for a naming that cannot be read.
 */
export function destinationNames(
  topics: readonly string[],
  naming: Naming,
  existing: ReadonlySet<string>,
  oneCluster: Selection | null = null,
): DestinationNames {
  const nameOf = namingOf(naming)
  const found: DestinationNames = { names: new Map(), refused: new Map() }
  for (const topic of topics) {
    const name = nameOf(topic)
    const refusal = unusable(topic, name)
    if (refusal === null) found.names.set(topic, name)
    else found.refused.set(topic, refusal)
  }
  // All are judged before one is taken away: what a refused topic would be called is no free name.
  const clashing = clashes(found.names, existing)
  for (const [topic, name] of [...found.names]) {
    const refusal = (oneCluster && circular(topic, name, oneCluster)) ?? clashing.get(topic)
    if (refusal === undefined) continue
    found.names.delete(topic)
    found.refused.set(topic, refusal)
  }
  return found
}

/** Reads a naming once. Throws `config-invalid` with the position of the piece at fault. */
export function namingOf(naming: Naming): (topic: string) => string {
  if (naming === 'identity') return topic => topic
  if ('prefix' in naming) return topic => naming.prefix + topic
  if (naming.rename.length > patternsMax) {
    const text = `naming.rename: ${naming.rename.length} patterns, at most ${patternsMax} (M-20)`
    throw new MillraceError('config-invalid', text)
  }
  const renames = naming.rename.map(renaming)
  return topic => {
    for (const rename of renames) {
      const name = rename(topic)
      if (name !== null) return name
    }
    return topic
  }
}

/** Null: the pattern does not match. A group that took no part is empty. */
function renaming(rule: { match: string; to: string }, at: number): (topic: string) => string | null {
  const pattern = compile(rule.match, `naming.rename[${at}].match`, 'M-20')
  checkGroups(rule.to, pattern.groupCount(), `naming.rename[${at}].to`)
  return topic => {
    const matcher = pattern.matcher(topic)
    if (!matcher.matches()) return null
    return rule.to.replaceAll(/\$([1-9])/g, (_, group) => matcher.group(Number(group)) ?? '')
  }
}

/** No topic's name has a `$`: one that stands for no group would make each name illegal. */
function checkGroups(to: string, groups: number, path: string): void {
  for (const { 0: found, 1: group, index } of to.matchAll(/\$(.?)/gs)) {
    if (/[1-9]/.test(group ?? '') && Number(group) <= groups) continue
    const text = `${path}: '${to}' has '${found}' at position ${index + 1}, and the pattern has ${groups} groups (M-20)`
    throw new MillraceError('config-invalid', text, { hint: '$1 to $9 stand for the groups of the pattern' })
  }
}

function unusable(topic: string, name: string): Refusal | null {
  if (!/^[A-Za-z0-9._-]{1,249}$/.test(name) || name === '.' || name === '..') {
    const hint = 'a name has 1 to 249 of A-Z a-z 0-9 . _ - and is not . or ..; change naming, or exclude the topic'
    return { message: `${topic}: would be named '${name}', which is no legal name of a topic (M-20)`, hint }
  }
  if (!neverSelected(name)) return null
  const message = `${topic}: would be named '${name}', which is reserved (M-11)`
  return { message, hint: 'change naming, or exclude the topic' }
}

/** In one cluster a copy must not be read again, else it is copied without end. */
function circular(topic: string, name: string, selected: Selection): Refusal | null {
  const one = `${topic}: source and destination are one cluster`
  if (name === topic) {
    return { message: `${one}, and the name would not change (M-21)`, hint: 'set naming, or exclude the topic' }
  }
  if (!selected(name, false).selected) return null
  return { message: `${one}, and the copy '${name}' would be copied again (M-21)`, hint: `exclude '${name}'` }
}

/**
 * Two sources with one name, and Kafka's metric clash: it creates no topic whose name differs from another's only in
 * `.` and `_`. In a clash of many each is told of one other, so that the work grows with their number only.
 */
function clashes(names: ReadonlyMap<string, string>, existing: ReadonlySet<string>): Map<string, Refusal> {
  const refused = new Map<string, Refusal>()
  const there = Map.groupBy(existing, unified)
  for (const [key, alike] of Map.groupBy(names.keys(), topic => unified(names.get(topic) ?? topic))) {
    const byName = Map.groupBy(alike, topic => names.get(topic) ?? topic)
    for (const [name, topics] of byName) {
      // One that is there needs not be created: a topic that appears does not stop another that is being copied.
      const near = existing.has(name) ? undefined : byName.entries().find(([other]) => other !== name)
      const foreign = existing.has(name) ? undefined : there.get(key)?.[0]
      for (const topic of topics) {
        const other = topics.find(one => one !== topic)
        if (other !== undefined) refused.set(topic, shared(topic, name, `${other}${more(topics.length - 2)}`))
        else if (near !== undefined) refused.set(topic, alikeButOne(topic, name, `${near[1][0]} '${near[0]}'`))
        else if (foreign !== undefined) refused.set(topic, alikeToForeign(topic, name, foreign))
      }
    }
  }
  return refused
}

const unified = (name: string) => name.replaceAll('.', '_')
const more = (count: number) => (count > 0 ? ` and ${count} more` : '')
const oneOfThem = 'change naming, or exclude all but one of them'

function shared(topic: string, name: string, others: string): Refusal {
  return { message: `${topic}: would be named '${name}', and so would ${others} (M-20)`, hint: oneOfThem }
}

function alikeButOne(topic: string, name: string, other: string): Refusal {
  const message = `${topic}: would be named '${name}' and ${other}: Kafka does not tell . and _ apart (M-20)`
  return { message, hint: oneOfThem }
}

function alikeToForeign(topic: string, name: string, foreign: string): Refusal {
  const message = `${topic}: would be named '${name}', and the destination has '${foreign}': Kafka does not tell . and _ apart (M-20)`
  return { message, hint: 'change naming, or exclude the topic' }
}
