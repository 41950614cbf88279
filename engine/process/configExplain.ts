import { Document, isCollection, isPair, isScalar, type Scalar, visit } from 'yaml'
import { readPlain } from './config.ts'
import { type ConfigFault, type ConfigPath, isSecret, pathText, withoutLogin } from './configFault.ts'
import type { Schemas } from './configFlow.ts'

/** `line` null = the value is a default. */
export type Explained = { path: string; value: unknown; line: number | null }

/**
 * Every value of a configuration with its origin: as a list, and as YAML with the origin at the end of each line,
 * which is a configuration that says the same. Values of keys that look like a secret's are hidden. `flow` = that
 * one only; null = all. A flow that is not there gives empty `values`.
 */
export function explainConfig(
  source: string,
  schemas: Schemas,
  flow: string | null,
): { ok: true; values: Explained[]; yaml: string; flows: string[] } | { ok: false; faults: ConfigFault[] } {
  const { plain, config, text, faults } = readPlain(source, schemas)
  if (faults.length > 0) return { ok: false, faults }
  const flows = [...config.flows.keys()]
  const wanted =
    flow === null ? plain : { flows: Object.fromEntries(Object.entries(plain.flows).filter(([name]) => name === flow)) }
  const values: Explained[] = []
  const doc = new Document(wanted, { aliasDuplicateObjects: false })
  visit(doc, {
    Node(_key, node, ancestors) {
      if (isPair(node) || (isCollection(node) && node.items.length > 0)) return
      const path = pathOf(node, ancestors)
      if (path === null) return
      const value = isScalar(node) ? hidden(node, path) : node.toJSON()
      const line = text.has(path) ? text.placeOf(path, 'value').line : null
      node.comment = line === null ? ' default' : ` line ${line}`
      values.push({ path: pathText(path), value, line })
    },
  })
  const yaml = doc.toString({
    lineWidth: 0,
    blockQuote: false,
    doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
  })
  // The library puts the comment of an empty collection on a line of its own. No text stands on more than one line.
  const inline = yaml.replace(/:\n +(\{\}|\[\])\n +(# (?:default|line \d+))$/gm, ': $1 $2')
  return { ok: true, values, yaml: inline, flows }
}

function hidden(node: Scalar, path: ConfigPath): unknown {
  if (isSecret(path)) node.value = '(hidden)'
  else if (typeof node.value === 'string') node.value = withoutLogin(node.value)
  return node.value
}

/** Null for what is a key. */
function pathOf(node: unknown, ancestors: readonly unknown[]): ConfigPath | null {
  const path: (string | number)[] = []
  const chain = [...ancestors, node]
  for (const [at, one] of chain.entries()) {
    const next = chain[at + 1]
    if (isPair(one)) {
      if (one.key === next) return null
      path.push(String(isScalar(one.key) ? one.key.value : one.key))
    } else if (isCollection(one) && next !== undefined && !isPair(next)) path.push(one.items.indexOf(next as never))
  }
  return path
}
