import { selection } from '../../flow/select.ts'
import type { MirrorSpec } from '../spec.ts'
import { namingOf } from './destinationNames.ts'

/** Two flows that would write the same records twice: `flow` and `other` copy `topic` to the same name. */
export type Clash = { flow: string; other: string; topic: string }

/**
 * What flows of one file may not do together, as far as the file alone tells: a topic that one names, or a pattern
 * that both have, which both copy between the same clusters to the same name. Each clash is told of the later flow.
 */
export function clashesOf(flows: ReadonlyMap<string, MirrorSpec>): Clash[] {
  const all = [...flows]
  return all.flatMap(([flow, spec], i) =>
    all.slice(0, i).flatMap(([other, before]) => {
      const topic = sameTopic(before, spec)
      return topic === null ? [] : [{ flow, other, topic }]
    }),
  )
}

function sameTopic(a: MirrorSpec, b: MirrorSpec): string | null {
  if (a.from !== b.from || a.to !== b.to) return null
  const [inA, inB] = [selection(a.topics), selection(b.topics)]
  const [nameA, nameB] = [namingOf(a.naming), namingOf(b.naming)]
  const isBoth = (topic: string) =>
    inA(topic, false).selected && inB(topic, false).selected && nameA(topic) === nameB(topic)
  const named = [...a.topics.names, ...b.topics.names, ...literals(a), ...literals(b)].find(isBoth)
  if (named !== undefined) return named
  const alike = JSON.stringify(a.naming) === JSON.stringify(b.naming)
  return (alike && a.topics.include.find(pattern => b.topics.include.includes(pattern))) || null
}

/** Patterns that are names: nothing in them stands for something else. */
function literals(spec: MirrorSpec): string[] {
  return spec.topics.include
    .map(pattern => pattern.replace(/\\([.-])/g, '$1'))
    .filter((name, i) => /^[\w.-]+$/.test(name) && !/(?<!\\)\./.test(spec.topics.include[i] ?? ''))
}
