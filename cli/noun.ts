import type { Command } from 'commander'
import type { ApiClient } from './apiClient.ts'
import { type Cli, runNoun } from './askFleet.ts'
import { helpExamples } from './helpExamples.ts'
import type { Io } from './io.ts'
import type { Said } from './said.ts'

/** All flags of commands that ask a fleet, by commander's names; each command has some. */
export type NounFlags = {
  api?: string
  tokenFile?: string
  output?: string
  watch?: true
  dryRun?: true
  why?: true
  file?: string
  createOnly?: true
  topic?: string[]
  partitions?: string
  wait?: string
  to?: string
  anywhere?: true
  offset?: string
  records?: string
}

/** What a command is asked. */
export type Given = { api: ApiClient; args: readonly string[]; flags: NounFlags; io: Io }
export type Noun = (given: Given) => Promise<Said>

export type NounHow = {
  about: string
  /** In commander's words. */
  options?: readonly (readonly [flags: string, about: string])[]
  /** May be given more than once. */
  lists?: readonly (readonly [flags: string, about: string])[]
  watch?: true
  dryRun?: true
  /** What is said too much it refuses itself, in words of its own. */
  excess?: true
  examples: readonly (readonly [typed: string, does: string])[]
  /** Loaded when it is asked for: a process that mirrors for months needs none of them. */
  load: () => Promise<Noun>
}

/** One command that asks a fleet. `usage`: its name and arguments, as in `flows [flow]`. */
export function addNoun(parent: Command, usage: string, how: NounHow, cli: Cli): Command {
  const command = parent.command(usage).description(how.about)
  for (const [flags, about] of how.options ?? []) command.option(flags, about)
  for (const [flags, about] of how.lists ?? []) {
    command.option(flags, about, (value: string, before: string[] = []) => [...before, value])
  }
  if (how.dryRun) command.option('--dry-run', 'say what would change; nothing is changed')
  if (how.watch) command.option('-w, --watch', 'show it again whenever it has changed, until Ctrl-C')
  command
    .option('-o, --output <format>', 'table, wide, json, yaml or name (default: table)')
    .option('--api <url>', 'the API of the fleet (default: MILLRACE_API, else http://127.0.0.1:8080)')
    .option('--token-file <file>', 'a file with the token that says who asks (default: MILLRACE_TOKEN)')
    .showHelpAfterError(
      `as in: ${how.examples[0]?.[0] ?? nameOf(command)}\n(${nameOf(command)} --help lists the options)`,
    )
    .action(async () => {
      const { args } = command
      // What stands before the name of a command below it is said to that one too.
      const flags = command.optsWithGlobals() as NounFlags
      await runNoun(cli, { args, flags, load: how.load })
    })
  if (how.excess) command.allowExcessArguments()
  return helpExamples(command, how.examples)
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`
}
