import type { Overlay } from '../../flow/overlay.ts'
import { type Selection, selection, type TopicRules } from '../../flow/select.ts'

const known = new WeakMap<TopicRules, WeakMap<Overlay['topics'], Selection>>()

/** What a mirror takes, by its spec and by what people have put in and out (M-10). Its patterns are compiled once. */
export function selected(rules: TopicRules, overlay: Overlay['topics']): Selection {
  const of = known.get(rules) ?? new WeakMap<Overlay['topics'], Selection>()
  known.set(rules, of)
  const found = of.get(overlay) ?? selection(rules, overlay)
  of.set(overlay, found)
  return found
}

/** The rules with what people have put in or out by name (M-13), for whoever asks after names and not after topics. */
export function rulesWith<Rules extends TopicRules>(rules: Rules, overlay: Overlay['topics']): Rules {
  if (overlay.size === 0) return rules
  const put = [...overlay].filter(([, to]) => to === 'in').map(([topic]) => topic)
  const names = new Set([...rules.names.filter(topic => overlay.get(topic) !== 'out'), ...put])
  return { ...rules, names: [...names] }
}
