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
    .showSuggestionAfterError()
    .showHelpAfterError('(millrace --help lists the commands)')
  addVerify(addAcls(addMirror(program)))
  addConfig(addRun(program))
  addReads(program, cli)
  addChanges(program, cli)
  addWishes(program, cli)
  addCompletion(program, cli)
  return program
}
