import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  type YAMLError,
  type YAMLMap,
} from 'yaml'
import { configDepthMax } from '../limits.ts'
import { type ConfigFault, type ConfigPath, isSecret, type Place, pathText } from './configFault.ts'

/** `value` is plain data; shared by its aliases. `faults` empty: nothing was left out of it. */
export type ConfigText = {
  value: unknown
  /** The text has no structure that more could be said of. */
  broken: boolean
  faults: ConfigFault[]
  /** Of the value at `path`, or of its key; of what is not there: where the nearest that holds it begins. */
  placeOf(path: ConfigPath, of: 'key' | 'value'): Place
  has(path: ConfigPath): boolean
}

/** What stands at one place. `under` = its entries, each with where its key begins. */
type Tree = { start: number; value: unknown; under: Map<string | number, Entry> }
type Entry = { keyStart: number; tree: Tree }

/**
 * One YAML 1.2 document with anchors and merge keys. Values are made here and not by the library, which expands
 * aliases, gives endless ones, and says neither where a key was repeated first nor where a value stands.
 */
export function readYaml(text: string): ConfigText {
  const lines = new LineCounter()
  const doc = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    // Nothing is printed; 'silent' would also keep a second document from being a fault.
    logLevel: 'error',
    // Asked here: the library compares each key with all before it.
    uniqueKeys: false,
    schema: 'core',
    resolveKnownTags: false,
  })
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(Math.max(0, offset))
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  const faults = firstOnes([...doc.errors, ...doc.warnings], place)
  // Behind the first place that is no YAML the library guesses what belongs where.
  const guessedFrom = Math.min(...doc.errors.map(error => error.pos[0]))
  const tell: Tell = (path, offset, fault) => {
    if (offset < guessedFrom) faults.push({ path: pathText(path), ...place(offset), ...fault })
  }
  const root = treeOf(doc.contents, tell, offset => place(offset).line)
  const entryAt = (path: ConfigPath): { entry: Entry; whole: boolean } => {
    let entry: Entry = { keyStart: root.start, tree: root }
    for (const part of path) {
      const next = entry.tree.under.get(part)
      if (next === undefined) return { entry, whole: false }
      entry = next
    }
    return { entry, whole: true }
  }
  return {
    value: root.value,
    broken: doc.errors.length > 0,
    faults,
    placeOf(path, of) {
      const { entry, whole } = entryAt(path)
      return place(of === 'value' && whole ? entry.tree.start : entry.keyStart)
    },
    has: path => entryAt(path).whole,
  }
}

type Tell = (path: ConfigPath, offset: number, fault: Pick<ConfigFault, 'found' | 'expected' | 'hint'>) => void

function treeOf(contents: unknown, tell: Tell, lineOf: (offset: number) => number): Tree {
  /** By name, the last one of that name; null while what it stands for is being read. */
  const anchors = new Map<string, Tree | null>()

  function read(node: unknown, path: ConfigPath, from: number): Tree {
    const start = startOf(node) ?? from
    const tree: Tree = { start, value: null, under: new Map() }
    if (isAlias(node)) return { ...aliased(node.source, path, start), start }
    const anchor = isScalar(node) || isMap(node) || isSeq(node) ? node.anchor : undefined
    if (anchor !== undefined) anchors.set(anchor, null)
    if (path.length > configDepthMax) {
      tell(path.slice(0, 3), start, { found: 'more', expected: `at most ${configDepthMax} levels`, hint: null })
    } else if (isMap(node)) readMap(node, path, tree)
    else if (isSeq(node)) {
      for (const [at, item] of node.items.entries()) {
        tree.under.set(at, { keyStart: startOf(item) ?? start, tree: read(item, [...path, at], start) })
      }
      tree.value = [...tree.under.values()].map(entry => entry.tree.value)
    } else if (isScalar(node)) tree.value = node.value
    if (anchor !== undefined) anchors.set(anchor, tree)
    return tree
  }

  function readMap(node: YAMLMap, path: ConfigPath, tree: Tree): void {
    const merged: Tree[] = []
    for (const pair of node.items) {
      const keyStart = startOf(pair.key) ?? tree.start
      const key = keyOf(pair, path, keyStart)
      if (key === null) continue
      const value = read(pair.value, [...path, key], keyStart)
      const before = tree.under.get(key)
      if (key === '<<' && isScalar(pair.key) && pair.key.type === 'PLAIN')
        merged.push(...mergedFrom(value, path, keyStart))
      else if (before) repeated([...path, key], before.keyStart, keyStart)
      else tree.under.set(key, { keyStart, tree: value })
    }
    // What the mapping says itself comes before what is merged into it, the first that is merged before the next.
    for (const { under } of merged) {
      for (const [key, entry] of under) if (!tree.under.has(key)) tree.under.set(key, entry)
    }
    tree.value = Object.fromEntries([...tree.under].map(([key, entry]) => [key, entry.tree.value]))
  }

  function repeated(path: ConfigPath, first: number, again: number): void {
    tell(path, again, {
      found: `'${path.at(-1)}' again`,
      expected: 'each key once',
      hint: `first on line ${lineOf(first)}`,
    })
  }

  function keyOf({ key }: Pair, path: ConfigPath, start: number): string | null {
    if (isMap(key) || isSeq(key)) {
      const found = isSeq(key) ? 'a list as a key' : 'a mapping as a key'
      tell(path, start, { found, expected: 'text as a key', hint: 'a value that begins with { or [ stands in quotes' })
      return null
    }
    const { value } = read(key, path, start)
    return value === null ? '' : String(value)
  }

  function mergedFrom(value: Tree, path: ConfigPath, start: number): Tree[] {
    const isMapping = (tree: Tree) =>
      typeof tree.value === 'object' && tree.value !== null && !Array.isArray(tree.value)
    const sources = Array.isArray(value.value) ? [...value.under.values()].map(entry => entry.tree) : [value]
    if (sources.every(isMapping)) return sources
    tell([...path, '<<'], start, {
      found: 'something else',
      expected: 'a mapping to merge, or a list of some',
      hint: null,
    })
    return []
  }

  function aliased(name: string, path: ConfigPath, start: number): Tree {
    const tree = anchors.get(name)
    if (tree) return tree
    // What looks like an alias may be a password that begins with an asterisk.
    const found = isSecret(path) ? 'a hidden alias' : `*${name}`
    const expected = tree === null ? 'an anchor that does not hold it' : `an anchor before it`
    tell(path, start, { found, expected, hint: 'text that begins with * stands in quotes' })
    return { start, value: null, under: new Map() }
  }

  return read(contents, [], 0)
}

function startOf(node: unknown): number | null {
  if (!(isAlias(node) || isScalar(node) || isMap(node) || isSeq(node))) return null
  return node.range?.[0] ?? null
}

/** Codes whose messages repeat no piece of the file, which may be a piece of a secret. */
const tellingCodes: ReadonlySet<YAMLError['code']> = new Set([
  'ALIAS_PROPS',
  'BAD_INDENT',
  'BLOCK_AS_IMPLICIT_KEY',
  'BLOCK_IN_FLOW',
  'KEY_OVER_1024_CHARS',
  'MISSING_CHAR',
  'MULTILINE_IMPLICIT_KEY',
  'MULTIPLE_ANCHORS',
  'MULTIPLE_TAGS',
  'TAB_AS_INDENT',
])
const inOurWords: Partial<Record<YAMLError['code'], string>> = {
  BAD_DQ_ESCAPE: 'an escape that double quotes do not have; single quotes take all as it is',
  BAD_SCALAR_START: 'a sign that only quoted text may begin with',
  MULTIPLE_DOCS: 'a second document, and a configuration is one',
  RESOURCE_EXHAUSTION: 'more levels than can be read',
  TAG_RESOLVE_FAILED: 'a tag that says nothing here; text that begins with ! stands in quotes',
  UNEXPECTED_TOKEN: 'something that cannot stand here',
}

/** One mistake makes the library find others in the rest of its line, and after a wrong indentation at each key. */
function firstOnes(errors: readonly YAMLError[], place: (offset: number) => Place): ConfigFault[] {
  const found = errors
    .toSorted((a, b) => a.pos[0] - b.pos[0])
    .map(error => ({ error, fault: syntaxFault(error, place(error.pos[0])) }))
  const indent = found.findIndex(({ error }) => error.code === 'BAD_INDENT')
  return found
    .filter(({ error }, at) => error.code !== 'BAD_INDENT' || at === indent)
    .map(({ fault }) => fault)
    .filter((fault, at, all) => fault.line !== all[at - 1]?.line)
}

function syntaxFault(error: YAMLError, at: Place): ConfigFault {
  const hint = inOurWords[error.code] ?? (tellingCodes.has(error.code) ? error.message : null)
  return { path: '', ...at, found: 'what is no YAML', expected: 'YAML', hint }
}
