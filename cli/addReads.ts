import type { Command } from 'commander'
import type { Cli } from './askFleet.ts'
import { addNoun } from './noun.ts'

/** Commands that look at a fleet and change nothing. */
export function addReads(program: Command, cli: Cli): void {
  addFleet(program, cli)
  addFlows(program, cli)
  addDeclared(program, cli)
}

function addFleet(program: Command, cli: Cli): void {
  addNoun(
    program,
    'status',
    {
      about: 'how the fleet does: who leads, its workers and flows',
      watch: true,
      examples: [
        ['millrace status --watch', 'again whenever something has changed, until Ctrl-C'],
        ['millrace status --api http://controller:8080 -o json', 'of another machine, for a program'],
      ],
      load: async () => (await import('./status.ts')).status,
    },
    cli,
  )
  addNoun(
    program,
    'workers [worker]',
    {
      about: 'list all workers, or show one; LOAD and SHARE, what it has and what would be even, are in bytes a second',
      watch: true,
      examples: [
        ['millrace workers -o wide', 'with their tags, addresses and software'],
        ['millrace workers host-1a2b3c4d', 'one, with its errors'],
      ],
      load: async () => (await import('./workers.ts')).workers,
    },
    cli,
  )
  addNoun(
    program,
    'plan',
    {
      about: 'show which units would be moved next, and why; it moves none',
      watch: true,
      examples: [['millrace plan -o wide', 'with the load of each worker']],
      load: async () => (await import('./plan.ts')).plan,
    },
    cli,
  )
}

function addFlows(program: Command, cli: Cli): void {
  addNoun(
    program,
    'flows [flow]',
    {
      about: 'list all flows, or show one: its spec, what people changed of it, how it does',
      watch: true,
      examples: [
        ['millrace flows', 'all flows, and how many of their units are held'],
        ['millrace flows clicks', 'all about one'],
      ],
      load: async () => (await import('./flows.ts')).flows,
    },
    cli,
  )
  addNoun(
    program,
    'partitions <flow[/topic[/n]]>',
    {
      about: 'list the partitions of a flow or a topic, or show one',
      options: [['--why', 'one page of all that is known of one partition, and what may be done about it']],
      watch: true,
      examples: [
        ['millrace partitions clicks/orders', 'state, worker, checkpoint and lag of each partition of a topic'],
        ['millrace partitions clicks/orders/3 --why', 'who has it, where it stands, and why'],
      ],
      load: async () => (await import('./partitions.ts')).partitions,
    },
    cli,
  )
}

function addDeclared(program: Command, cli: Cli): void {
  addNoun(
    program,
    'diff',
    {
      about: 'show what `millrace apply` would change; ends with 1 when it would change something',
      options: [['-f, --file <file>', 'flows as in flows: of a configuration; - is standard input']],
      examples: [['millrace diff -f flows.yaml', 'each value that differs']],
      load: async () => (await import('./diff.ts')).diff,
    },
    cli,
  )
  addNoun(
    program,
    'state',
    {
      about: 'print flows and wishes as they are, to be put aside',
      examples: [
        ['millrace state > state.json', 'put it aside'],
        ['millrace apply -f state.json --create-only', 'give back what is missing'],
      ],
      load: async () => (await import('./state.ts')).state,
    },
    cli,
  )
}
