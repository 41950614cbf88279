import type { RE2JS } from 're2js'
import { MillraceError } from '../errors.ts'
import { patternsMax } from '../limits.ts'
import { compile } from './pattern.ts'

/** Which topics a flow takes (M-10). Patterns are RE2, must match the whole name, and tell capitals apart. */
export type TopicRules = { include: readonly string[]; exclude: readonly string[]; names: readonly string[] }
/** What was put in or out while the flow runs; it speaks before the rules do. */
export type Overlay = ReadonlyMap<string, 'in' | 'out'>
export type SelectRule = 'overlay' | 'names' | 'reserved' | 'exclude' | 'include' | 'none'
export type Selected = { selected: boolean; rule: SelectRule }
export type Selection = (topic: string, isInternal: boolean) => Selected

/** M-11: refused even by name. */
const never = new Set(['__consumer_offsets', '__transaction_state', '__share_group_state'])
const neverPrefixes = ['millrace.mirror.', 'millrace.offsets.']

/** How whoever wrote the rules calls their lists. */
type RuleNames = { include: string; exclude: string }
const namesInSpec: RuleNames = { include: 'topics.include', exclude: 'topics.exclude' }

/** Compiles the rules once. Throws `config-invalid` with the position of the piece at fault. */
export function selection(rules: TopicRules, overlay: Overlay = new Map(), called: RuleNames = namesInSpec): Selection {
  const include = compiled(rules.include, called.include)
  const exclude = compiled(rules.exclude, called.exclude)
  const names = new Set(rules.names)
  return (topic, isInternal) => {
    if (neverSelected(topic)) return { selected: false, rule: 'reserved' }
    const wish = overlay.get(topic)
    if (wish) return { selected: wish === 'in', rule: 'overlay' }
    if (names.has(topic)) return { selected: true, rule: 'names' }
    if (isInternal || reserved(topic)) return { selected: false, rule: 'reserved' }
    if (exclude.some(pattern => pattern.testExact(topic))) return { selected: false, rule: 'exclude' }
    if (include.some(pattern => pattern.testExact(topic))) return { selected: true, rule: 'include' }
    return { selected: false, rule: 'none' }
  }
}

/** M-11: Kafka's own three and our two, which are neither a source nor a destination of anything. */
export function neverSelected(topic: string): boolean {
  return never.has(topic) || neverPrefixes.some(prefix => topic.startsWith(prefix))
}

/** Kafka's own topics and those of MirrorMaker 2. */
function reserved(topic: string): boolean {
  if (topic.startsWith('__')) return true
  if (topic === 'heartbeats' || topic.endsWith('.heartbeats')) return true
  return topic.endsWith('.checkpoints.internal') || (topic.startsWith('mm2-') && topic.endsWith('.internal'))
}

function compiled(patterns: readonly string[], path: string): RE2JS[] {
  if (patterns.length > patternsMax) {
    throw new MillraceError('config-invalid', `${path}: ${patterns.length} patterns, at most ${patternsMax} (M-10)`)
  }
  return patterns.map(pattern => compile(pattern, path, 'M-10'))
}
