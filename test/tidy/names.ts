import { type Breach, lineAt, type Source } from './tree.ts'

const empty = /(^|\/)(utils?|helpers?|common|managers?|misc|index)(\/|\.[a-z.]+$)/i

/** A file is named after the one idea in it (STYLE 13). */
export function nameBreaches(sources: Source[]): Breach[] {
  return sources
    .filter(source => empty.test(source.path))
    .map(source => ({ path: source.path, line: 1, says: 'a file is named after the one idea in it (STYLE 13)' }))
}

/** Put together here, so that this file does not hold what it forbids. */
const machine = new RegExp(
  `(?<![\\w.)}$-])/(${['work', 'tmp/brief', 'home/[a-z]', 'Users/[A-Za-z]'].join('|')})\\b`,
  'g',
)

/** Absolute paths of the machine somebody wrote this on: they mean nothing on any other. */
export function machinePathBreaches(sources: Source[]): Breach[] {
  return sources.flatMap(source =>
    [...source.text.matchAll(machine)].map(match => ({
      path: source.path,
      line: lineAt(source.text, match.index),
      says: `names a path of one machine: ${match[0]}`,
    })),
  )
}
