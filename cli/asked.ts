import type { Command } from 'commander'
import type { ClusterConfig } from '../engine/adapters/kafka/openKafka.ts'
import { MillraceError } from '../engine/errors.ts'
import { type Selection, selection, type TopicRules } from '../engine/flow/select.ts'
import { clusterOf } from './clusters.ts'

/** What the commands that mirror and compare are asked in the same words. */
export type AskedFlags = { from?: string; to?: string; topics?: string[]; exclude?: string[]; name?: string }
export type Asked = {
  from: ClusterConfig
  to: ClusterConfig
  topics: TopicRules
  select: Selection
  name: string | null
}

/** Throws `config-invalid` that names the flag, before anything is connected. `command` is how its example begins. */
export function askedOf(flags: AskedFlags, words: readonly string[], command: string): Asked {
  const missing = (['from', 'to'] as const).filter(flag => flags[flag] === undefined).map(flag => `--${flag} HOST:PORT`)
  if (flags.topics === undefined) missing.push('--topics PATTERN')
  const example = `${command} --from east:9092 --to west:9092 --topics 'clicks\\..*'`
  if (words.length > 0) {
    const hint = `\`millrace mirror verify\` compares, and a pattern stands in quotes, as in: ${example}`
    throw invalid(`a word too many: ${words.join(' ')}`, hint)
  }
  if (missing.length > 0) throw invalid(`missing: ${missing.join(', ')}`, `as in: ${example}`)
  if (flags.name !== undefined && !/^[a-z0-9][a-z0-9-]{0,62}$/.test(flags.name)) {
    const hint = 'small letters, digits and dashes, 63 at most, not a dash first'
    throw invalid(`--name: '${flags.name}' is no name of a flow`, hint)
  }
  const topics = { include: flags.topics ?? [], exclude: flags.exclude ?? [], names: [] }
  if (topics.include.includes('')) throw invalid('--topics: expected a pattern, found nothing', `as in: ${example}`)
  if (topics.exclude.includes(''))
    throw invalid('--exclude: expected a pattern, found nothing', `as in: --exclude '.*\\.tmp'`)
  return {
    from: clusterOf('source', '--from', flags.from ?? ''),
    to: clusterOf('destination', '--to', flags.to ?? ''),
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
    .option('--topics <pattern>', 'RE2 pattern that must match the whole name; may be given more than once', each)
    .option('--exclude <pattern>', 'leave out what matches; may be given more than once', each)
}
