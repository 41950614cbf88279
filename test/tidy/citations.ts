import { type Breach, lineAt, type Source } from './tree.ts'

/** Which design file defines the rules of a letter. B counts in each file that has benchmarks. */
const letters: Record<string, string[]> = {
  M: ['MIRROR'],
  V: ['MIRROR'],
  B: ['MIRROR', 'LOGS'],
  W: ['KAFKA-CLIENT'],
  R: ['RIG'],
  L: ['LOGS'],
  C: ['COORDINATION'],
  K: ['CREDENTIALS'],
  D: ['CLOUD'],
  J: ['JOBS'],
  F: ['FUNCTIONS'],
  E: ['AWS-EMULATION'],
}
const documents = [...new Set(Object.values(letters).flat()), 'DESIGN', 'STYLE', 'TOOLCHAIN']

const cited = /(?<![\w-])([BCDEFJKLMRVW])-(\d+)(?![\w-])/g
const section = new RegExp(`(?<![\\w-])(${documents.join('|')}) §(\\d+)`, 'g')
const designFile = (name: string) => `docs/design/${name}.md`

/** Rules and sections cited anywhere outside docs/design/ that no design file there defines. */
export function citationBreaches(sources: Source[]): Breach[] {
  const design = new Map(sources.filter(source => /^docs\/design\//.test(source.path)).map(one => [one.path, one.text]))
  const defined = new Map([...design].map(([path, text]) => [path, rulesIn(text)]))
  const breaches: Breach[] = []
  for (const source of sources) {
    if (design.has(source.path) || source.path === 'LICENSE') continue
    const breach = (index: number, says: string) =>
      breaches.push({ path: source.path, line: lineAt(source.text, index), says })
    for (const match of source.text.matchAll(cited)) {
      const files = (letters[match[1] ?? ''] ?? []).map(designFile)
      if (files.some(file => defined.get(file)?.has(match[0]))) continue
      const there = files.filter(file => design.has(file))
      const says = there.length > 0 ? `${there.join(', ')} has no such rule` : `${files.join(', ')} is not here`
      breach(match.index, `cites ${match[0]}: ${says}`)
    }
    for (const match of source.text.matchAll(section)) {
      const text = design.get(designFile(match[1] ?? ''))
      if (text === undefined) breach(match.index, `cites ${match[0]}: ${designFile(match[1] ?? '')} is not here`)
      else if (!new RegExp(`^#+ ${match[2]}\\.`, 'm').test(text))
        breach(match.index, `cites ${match[0]}: no such section`)
    }
  }
  return breaches
}

/** A rule is defined where its number stands in bold, or first in the row of a table. */
function rulesIn(text: string): Set<string> {
  return new Set([...text.matchAll(/(?:\*\*|^\| *)([A-Z]-\d+)/gm)].map(match => match[1] ?? ''))
}
