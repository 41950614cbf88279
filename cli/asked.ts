import type { Command } from 'commander'
import { MillraceError } from '../engine/errors.ts'
import { type Selection, selection, type TopicRules } from '../engine/flow/select.ts'
import type { NamedCluster } from '../engine/wiring/clusters.ts'
import type { ClusterFiles } from './clusterFiles.ts'
import { clusterOf } from './clusters.ts'

/** What the commands that mirror and compare are asked in the same words. */
export type AskedFlags = {
  from?: string
  to?: string
  topics?: string[]
  exclude?: string[]
  name?: string
  sourceConfig?: string
  destinationConfig?: string
}
export type Asked = {
  from: NamedCluster
  to: NamedCluster
  topics: TopicRules
  select: Selection
  name: string | null
}

const noFiles: ClusterFiles = { from: null, to: null }

/**
 * Throws `config-invalid` that names the flag, before anything is connected. `command` is how its example begins;
 * `files` is what the flags say of files, read.
 */
export function askedOf(flags: AskedFlags, words: readonly string[], command: string, files = noFiles): Asked {
  const sides = ['from', 'to'] as const
  const isSaid = (side: 'from' | 'to') => (files[side]?.settings.brokers.length ?? 0) > 0
  const missing = sides.filter(side => flags[side] === undefined && !isSaid(side)).map(side => `--${side} HOST:PORT`)
  const twice = sides.find(side => flags[side] !== undefined && isSaid(side))
  if (flags.topics === undefined) missing.push('--topics PATTERN')
  const example = `${command} --from east:9092 --to west:9092 --topics 'clicks\\..*'`
  if (words.length > 0) {
    const hint = `\`millrace mirror verify\` compares, and a pattern stands in quotes, as in: ${example}`
    throw invalid(`a word too many: ${words.join(' ')}`, hint)
  }
  if (missing.length > 0) throw invalid(`missing: ${missing.join(', ')}`, `as in: ${example}`)
  if (twice !== undefined) {
    const hint = 'leave the flag out, or the brokers of the file'
    throw invalid(`--${twice} and the brokers in ${files[twice]?.path} of ${files[twice]?.flag}: one too many`, hint)
  }
  if (flags.name !== undefined && !/^[a-z0-9][a-z0-9-]{0,62}$/.test(flags.name)) {
    const hint = 'small letters, digits and dashes, 63 at most, not a dash first'
    throw invalid(`--name: '${flags.name}' is no name of a flow`, hint)
  }
  const topics = { include: flags.topics ?? [], exclude: flags.exclude ?? [], names: [] }
  if (topics.include.includes('')) throw invalid('--topics: expected a pattern, found nothing', `as in: ${example}`)
  if (topics.exclude.includes(''))
    throw invalid('--exclude: expected a pattern, found nothing', `as in: --exclude '.*\\.tmp'`)
  return {
    from: clusterOf('source', '--from', flags.from ?? '', files.from),
    to: clusterOf('destination', '--to', flags.to ?? '', files.to),
    topics,
    select: selection(topics, new Map(), { include: '--topics', exclude: '--exclude' }),
    name: flags.name ?? null,
  }
}

function invalid(text: string, hint: string): MillraceError {
  return new MillraceError('config-invalid', text, { hint })
}

/** The options that both commands have, before those of their own. */
export function askOptions(command: Command): Command {
  const each = (value: string, before: string[] = []) => [...before, value]
  return command
    .option('--from <host:port>', 'brokers of the source, with commas between')
    .option('--to <host:port>', 'brokers of the destination, with commas between')
    .option('--source-config <file>', 'more of the source, security included: YAML with the keys of one of clusters:')
    .option('--destination-config <file>', 'the same of the destination')
    .option('--topics <pattern>', 'RE2 pattern that must match the whole name; may be given more than once', each)
    .option('--exclude <pattern>', 'leave out what matches; may be given more than once', each)
}
