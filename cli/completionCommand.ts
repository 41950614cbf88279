import { Argument, type Command } from 'commander'
import type { Cli } from './askFleet.ts'
import { helpExamples } from './helpExamples.ts'
import { shells } from './shells.ts'
import { usage } from './usage.ts'

/** `millrace completion SHELL`: a script that completes all commands, flags and names of a fleet. */
export function addCompletion(program: Command, { io, exit }: Cli): void {
  const command = program
    .command('completion')
    .description('print a script that lets a shell complete commands, flags, and names of the fleet')
    .addArgument(new Argument('<shell>', shells.join(', ')).choices(shells))
    .showHelpAfterError('(millrace completion --help shows how it is used)')
    .action(async (shell: string) => {
      const { completionOf } = await import('./completion.ts')
      const found = shells.find(one => one === shell)
      if (found === undefined)
        throw usage(`expected ${shells.join(', ')}, found '${shell}'`, 'millrace completion bash')
      io.stdout.write(completionOf(found, program))
      await exit(0)
    })
  helpExamples(command, [
    ['source <(millrace completion bash)', 'for this bash; in ~/.bashrc, for each'],
    ['source <(millrace completion zsh)', 'in ~/.zshrc, behind compinit'],
    ['millrace completion fish > ~/.config/fish/completions/millrace.fish', 'for each fish'],
  ])
}
