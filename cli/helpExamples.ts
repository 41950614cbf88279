import type { Command } from 'commander'

/** Puts examples below the help of a command: what to type, and what it does. */
export function helpExamples(command: Command, examples: readonly (readonly [typed: string, does: string])[]): Command {
  const text = examples.map(([typed, does]) => `  # ${does}\n  $ ${typed}`).join('\n')
  return command.addHelpText('after', `\nExamples:\n${text}`)
}
