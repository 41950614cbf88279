import { Command } from 'commander'
import { version } from '../engine/wiring/version.ts'
import { addAcls } from './acls.ts'
import { addChanges } from './addChanges.ts'
import { addReads } from './addReads.ts'
import { addWishes } from './addWishes.ts'
import type { Cli } from './askFleet.ts'
import { addCompletion } from './completionCommand.ts'
import { addConfig } from './configCommand.ts'
import { addMirror } from './mirror.ts'
import { addRun } from './run.ts'
import { addVerify } from './verify.ts'

/** All commands; completions are made of what stands here. */
export function programOf(cli: Cli): Command {
  const { stdout, stderr } = cli.io
  const program = new Command('millrace')
    .description('keeps streams moving')
    .version(version)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ writeOut: text => void stdout.write(text), writeErr: text => void stderr.write(text) })
    // That a command has options goes without saying, and takes the place of what it does.
    .configureHelp({ subcommandTerm: command => [command.name(), usageOf(command)].join(' ').trim() })
    .showSuggestionAfterError()
    .showHelpAfterError('(millrace --help lists the commands)')
  program.commandsGroup('Run:')
  addVerify(addAcls(addMirror(program)))
  addConfig(addRun(program))
  program.commandsGroup('Look at a fleet:')
  addReads(program, cli)
  program.commandsGroup('Change its flows:')
  addChanges(program, cli)
  program.commandsGroup('Place its units:')
  addWishes(program, cli)
  program.commandsGroup('Else:')
  addCompletion(program, cli)
  return program
}

function usageOf(command: Command): string {
  return command.registeredArguments.map(one => (one.required ? `<${one.name()}>` : `[${one.name()}]`)).join(' ')
}
