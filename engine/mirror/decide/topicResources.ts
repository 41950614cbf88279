import type { TopicRules } from '../../flow/select.ts'
import type { Naming } from '../spec.ts'
import { namingOf } from './destinationNames.ts'

/** What an ACL can be about (KIP-290): one name, or all that begin with one; literal `*` is every name. */
export type Resource = { name: string; pattern: 'literal' | 'prefixed' }

const every: Resource = { name: '*', pattern: 'literal' }

/** Fewest resources that hold each topic of the rules; some may hold more, for no ACL knows a pattern or an exclusion. */
export function topicResources({ names, include }: TopicRules): Resource[] {
  return fewest([...names.map(literal), ...include.flatMap(resourcesOf)])
}

/** The same at the destination, under the names that the topics have there (M-20). */
export function renamedResources(rules: TopicRules, naming: Naming): Resource[] {
  const resources = topicResources(rules)
  if (naming === 'identity') return resources
  const nameOf = namingOf(naming)
  if ('prefix' in naming) return resources.map(one => (isEvery(one) ? prefixed(naming.prefix) : renamed(one, nameOf)))
  const single = resources.filter(one => one.pattern === 'literal' && !isEvery(one))
  const many = resources.filter(one => one.pattern === 'prefixed' || isEvery(one))
  return fewest([...single.map(one => renamed(one, nameOf)), ...many.flatMap(one => renamedAll(one, naming.rename))])
}

function renamed(one: Resource, nameOf: (topic: string) => string): Resource {
  return { ...one, name: nameOf(one.name) }
}

/** Any rule may be the one of some topic of the resource, and a topic that none matches keeps its name. */
function renamedAll(one: Resource, rules: readonly { match: string; to: string }[]): Resource[] {
  const found: Resource[] = []
  for (const { match, to } of rules) {
    if (!resourcesOf(match).some(other => meet(one, other))) continue
    const group = to.indexOf('$')
    found.push(group < 0 ? literal(to) : startingWith(to.slice(0, group)))
    if (/^\(?\.[*+]\)?$/.test(match)) return found
  }
  return [...found, one]
}

/** One for each alternative of a pattern in the syntax of RE2 that matches whole names. */
export function resourcesOf(pattern: string): Resource[] {
  return alternatives(pattern).map(resourceOf)
}

/** At `|` outside of groups and classes. A quoted part is cut too: what it gives then holds more than it must. */
function alternatives(pattern: string): string[] {
  const found: string[] = []
  let depth = 0
  let inClass = false
  let from = 0
  for (let at = 0; at < pattern.length; at++) {
    const c = pattern[at]
    if (c === '\\') at++
    else if (inClass) inClass = c !== ']' || pattern[at - 1] === '['
    else if (c === '[') inClass = true
    else if (c === '(') depth++
    else if (c === ')') depth--
    else if (c === '|' && depth === 0) {
      found.push(pattern.slice(from, at))
      from = at + 1
    }
  }
  return [...found, pattern.slice(from)]
}

/** The text that each match begins with: up to the first piece that is more than one character of a name. */
function resourceOf(pattern: string): Resource {
  let text = ''
  const whole = pattern.replace(/^\^/, '').replace(/(?<!\\)\$$/, '')
  for (let at = 0; at < whole.length; ) {
    const piece = /^(?:\\[^A-Za-z0-9]|[A-Za-z0-9_-])/.exec(whole.slice(at))?.[0]
    const after = piece === undefined ? '' : (whole[at + piece.length] ?? '')
    // A piece that may be there or not, or more than once, is no fixed text any more.
    if (piece === undefined || /[?*{]/.test(after)) return startingWith(text)
    text += piece.slice(-1)
    if (after === '+') return startingWith(text)
    at += piece.length
  }
  return literal(text)
}

/** Without those that another one holds. */
function fewest(resources: readonly Resource[]): Resource[] {
  const once = [...new Map(resources.map(one => [`${one.pattern} ${one.name}`, one])).values()]
  return once.filter(one => !once.some(other => other !== one && holds(other, one)))
}

function holds(one: Resource, other: Resource): boolean {
  return isEvery(one) || (one.pattern === 'prefixed' && !isEvery(other) && other.name.startsWith(one.name))
}

function meet(one: Resource, other: Resource): boolean {
  return holds(one, other) || holds(other, one) || (one.name === other.name && one.pattern === other.pattern)
}

export function isEvery(one: Resource): boolean {
  return one.pattern === 'literal' && one.name === '*'
}

export function literal(name: string): Resource {
  return { name, pattern: 'literal' }
}

export function prefixed(name: string): Resource {
  return { name, pattern: 'prefixed' }
}

function startingWith(text: string): Resource {
  return text === '' ? every : prefixed(text)
}
