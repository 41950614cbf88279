import type { Command } from 'commander'
import type { Cli } from './askFleet.ts'
import { addNoun } from './noun.ts'

/** Commands that change flows, or what people wish of them. */
export function addChanges(program: Command, cli: Cli): void {
  addDeclared(program, cli)
  addTopics(program, cli)
  addPauses(program, cli)
  addOffsets(program, cli)
}

function addDeclared(program: Command, cli: Cli): void {
  addNoun(
    program,
    'apply',
    {
      about: 'declare flows: create those that are missing, change those that differ',
      options: [
        [
          '-f, --file <file>',
          'flows as in flows: of a configuration, or what `millrace state` has printed; - is standard input',
        ],
        ['--create-only', 'leave what is there as it is'],
      ],
      dryRun: true,
      examples: [
        ['millrace apply -f flows.yaml --dry-run', 'what would change, and how much each flow would copy'],
        [
          "echo 'clicks: { kind: mirror, from: east, to: west, topics: { names: [orders] } }' | millrace apply -f -",
          'one flow',
        ],
      ],
      load: async () => (await import('./apply.ts')).apply,
    },
    cli,
  )
  addNoun(
    program,
    'delete <flow>',
    {
      about: 'end a flow: its units stop, then it goes; its offsets stay in Kafka',
      dryRun: true,
      examples: [['millrace delete clicks', 'it ends; declared again, it goes on where it was']],
      load: async () => (await import('./deleteFlow.ts')).deleteFlow,
    },
    cli,
  )
}

function addTopics(program: Command, cli: Cli): void {
  const topics = addNoun(
    program,
    'topics [flow[/topic]]',
    {
      about: 'list the topics of a flow, or show one',
      watch: true,
      examples: [
        ['millrace topics clicks', 'all that it copies, and those put in or out by hand'],
        ['millrace topics add clicks orders', 'copy one more'],
      ],
      load: async () => (await import('./topics.ts')).topics,
    },
    cli,
  )
  addNoun(
    topics,
    'add <flow> [topic]',
    {
      about: 'put a topic into a flow, whatever its spec selects',
      dryRun: true,
      examples: [['millrace topics add clicks orders', 'one that is not there yet is waited for']],
      load: async () => (await import('./topics.ts')).addTopic,
    },
    cli,
  )
  addNoun(
    topics,
    'remove <flow> [topic]',
    {
      about: 'take a topic out of a flow, whatever its spec selects',
      dryRun: true,
      examples: [['millrace topics remove clicks orders', 'what is copied already stays']],
      load: async () => (await import('./topics.ts')).removeTopic,
    },
    cli,
  )
  addNoun(
    topics,
    'forget <flow> [topic]',
    {
      about: 'forget that a topic was put in or out by hand: the spec decides again',
      dryRun: true,
      examples: [['millrace topics forget clicks orders', 'takes back what add or remove said of it']],
      load: async () => (await import('./topics.ts')).forgetTopic,
    },
    cli,
  )
}

function addPauses(program: Command, cli: Cli): void {
  const which = {
    lists: [['--topic <topic>', 'this topic only; may be given more than once']],
    options: [['--partitions <ranges>', 'these partitions of the topic only, such as 0-3,7']],
  } as const
  addNoun(
    program,
    'pause <flow[/topic[/n]]>',
    {
      about: 'pause a flow, a topic or a partition, until it is resumed',
      lists: which.lists,
      options: [
        ...which.options,
        ['--wait <seconds>', 'answer when nothing of it runs; ends with 13 when something still does'],
      ],
      dryRun: true,
      examples: [
        ['millrace pause clicks --wait 10', 'all of a flow'],
        ['millrace pause clicks --topic orders --partitions 0-3', 'four partitions'],
      ],
      load: async () => (await import('./pause.ts')).pause,
    },
    cli,
  )
  addNoun(
    program,
    'resume <flow[/topic[/n]]>',
    {
      about: 'resume what is paused; what is in error tries again at once',
      ...which,
      dryRun: true,
      examples: [
        ['millrace resume clicks', 'all of a flow'],
        ['millrace resume clicks/orders', 'one topic'],
      ],
      load: async () => (await import('./pause.ts')).resume,
    },
    cli,
  )
  addNoun(
    program,
    'skip <flow/topic/n>',
    {
      about: 'let a partition in error pass over the records at which it fails',
      options: [
        ['--offset <n>', 'the offset at which it fails: `millrace partitions FLOW/TOPIC/N --why` shows it'],
        ['--records <n>', 'how many records (default: 1)'],
      ],
      dryRun: true,
      examples: [['millrace skip clicks/orders/3 --offset 4711 --records 1', 'one record is left out, and counted']],
      load: async () => (await import('./skip.ts')).skip,
    },
    cli,
  )
}

function addOffsets(program: Command, cli: Cli): void {
  const offsets = program.command('offsets').description('read or set how far a flow has come')
  addNoun(
    offsets,
    'get <flow[/topic]>',
    {
      about: 'list checkpoints and ends of the log of each partition',
      watch: true,
      examples: [['millrace offsets get clicks/orders', 'of one topic']],
      load: async () => (await import('./offsets.ts')).getOffsets,
    },
    cli,
  )
  addNoun(
    offsets,
    'reset <flow[/topic[/n]]>',
    {
      about: 'set checkpoints of what is paused',
      options: [['--to <where>', 'earliest, latest, an offset, or a time such as 2026-01-31T00:00:00Z']],
      dryRun: true,
      examples: [
        [
          'millrace pause clicks --wait 10 && millrace offsets reset clicks --to earliest --dry-run',
          'what would be set',
        ],
        ['millrace offsets reset clicks/orders/3 --to 4711', 'one partition'],
      ],
      load: async () => (await import('./offsets.ts')).resetOffsets,
    },
    cli,
  )
}
