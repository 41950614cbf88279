import type { Command } from 'commander'
import type { Cli } from './askFleet.ts'
import { addNoun } from './noun.ts'

/** Commands that say where units should be. */
export function addWishes(program: Command, cli: Cli): void {
  addNoun(
    program,
    'drain <worker>',
    {
      about: 'move all units of a worker to others, and give it none',
      dryRun: true,
      examples: [['millrace drain host-1a2b3c4d', 'before its machine is taken away']],
      load: async () => (await import('./drain.ts')).drain,
    },
    cli,
  )
  addNoun(
    program,
    'undrain <worker>',
    {
      about: 'give units to a drained worker again',
      dryRun: true,
      examples: [['millrace undrain host-1a2b3c4d', 'what has moved stays where it is']],
      load: async () => (await import('./drain.ts')).undrain,
    },
    cli,
  )
  addNoun(
    program,
    'rebalance',
    {
      about: 'even out loads once, also where balancing is off',
      dryRun: true,
      examples: [['millrace rebalance && millrace plan', 'what it moves']],
      load: async () => (await import('./balancing.ts')).rebalance,
    },
    cli,
  )
  addNoun(
    program,
    'balancing [on|off]',
    {
      about: 'say whether units are moved only to even out loads',
      dryRun: true,
      examples: [
        ['millrace balancing', 'whether they are'],
        ['millrace balancing off', 'they are moved only where they must be'],
      ],
      load: async () => (await import('./balancing.ts')).balancing,
    },
    cli,
  )
  addNoun(
    program,
    'move <flow/topic/n>',
    {
      about: 'move a partition to a worker, and keep it there for a while',
      options: [
        ['--to <worker>', 'the worker that is to have it'],
        ['--anywhere', 'take the wish back'],
      ],
      dryRun: true,
      examples: [['millrace move clicks/orders/3 --to host-1a2b3c4d', 'for lasting wishes, requires: of the flow']],
      excess: true,
      load: async () => (await import('./move.ts')).move,
    },
    cli,
  )
}
