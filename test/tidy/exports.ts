import { blanked } from './code.ts'
import { isCode } from './imports.ts'
import { type Breach, lineAt, type Source } from './tree.ts'

const exported = /^export (?:async )?(?:const|function\*?|class) (\w+)/gm
/** Taken by the test runner, and by those that import a file as a whole. */
const takenWhole = /^test\/(live\/setup|kafkaSchemas\/\w+Apis)\.ts$/

/** What is exported is used by another file, else it is dead or its `export` is. Types may stand beside what they type. */
export function exportBreaches(sources: Source[]): Breach[] {
  const words = sources
    .filter(source => isCode(source.path))
    .map(source => ({ ...source, used: new Set(blanked(source.text).match(/\w+/g)) }))
  return words
    .filter(source => !takenWhole.test(source.path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(exported)]
        .filter(([, name]) => !words.some(other => other.path !== path && other.used.has(name ?? '')))
        .map(match => ({
          path,
          line: lineAt(text, match.index + 1),
          says: `${match[1]} is exported, and nobody imports it`,
        })),
    )
}
