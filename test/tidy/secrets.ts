import { blanked } from './code.ts'
import { isCode } from './imports.ts'
import { type Breach, lineAt, type Source } from './tree.ts'

/** Who may see what a secret is: the adapters that hand it to somebody (CREDENTIALS K-15). */
const mayReveal = /^(engine\/adapters\/(kafka|kerberos|zookeeper|registry|aws|local)\/|engine\/flow\/secret\.ts$)/

/** `reveal` anywhere else, also where it is only named: who takes the function calls it. */
export function secretBreaches(sources: Source[]): Breach[] {
  return sources
    .filter(({ path }) => isCode(path) && !mayReveal.test(path) && !/^(test|bench|rig)\//.test(path))
    .flatMap(({ path, text }) =>
      [...blanked(text).matchAll(/\breveal\b/g)].map(match => ({
        path,
        line: lineAt(text, match.index),
        says: 'reveals a secret: adapters may, nobody else (K-15)',
      })),
    )
}
