import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeFlags } from '../../cli/nodeFlags.ts'
import type { Child } from '../../rig/child.ts'
import type { Children } from '../../rig/children.ts'
import type { Cell } from './load.ts'

export type Where = { from: string; to: string; processes: Children; round: number }
/** One mirroring process under measurement. `name` is what the table says. */
export type Contestant = { name: string; start(cell: Cell, where: Where): Promise<Child> }

const root = fileURLToPath(new URL('../..', import.meta.url))
const properties = fileURLToPath(new URL('./mm2.properties', import.meta.url))
const tunedFrom = '# From here on'

/** The command as people run it; `tree` is a checkout, so that two versions can be compared. */
export function millrace(name = 'millrace', tree = root): Contestant {
  return {
    name,
    start: (cell, { from, to, processes, round }) =>
      processes.start({
        name: `${name}.${cell.topic}.${round}`,
        command: join(tree, 'node_modules/.bin/node'),
        args: [
          ...nodeFlags,
          join(tree, 'cli/start.mjs'),
          'mirror',
          ...['--from', from, '--to', to, '--topics', cell.topic.replaceAll('.', '\\.')],
          ...['--name', `bench-${name}-${round}-${cell.topic.replaceAll('.', '-')}`, '-o', 'json'],
        ],
      }),
  }
}

/** MirrorMaker 2 in its dedicated mode; `tuned` as in docs/design/KAFKA-CLIENT.md §7. */
export function mirrorMaker(how: 'tuned' | 'stock'): Contestant {
  return {
    name: how === 'tuned' ? 'MirrorMaker 2, tuned' : 'MirrorMaker 2, stock',
    async start(cell, { from, to, processes, round }) {
      const text = await readFile(properties, 'utf8')
      const lines = how === 'tuned' ? text : text.slice(0, text.indexOf(tunedFrom))
      const filled = lines
        .replace('{{FROM}}', from)
        .replace('{{TO}}', to)
        .replace('{{TOPIC}}', cell.topic)
        .replace('{{CODEC}}', cell.codec)
      const path = join(processes.dir, `mm2-${how}-${cell.topic}-${round}.properties`)
      await writeFile(path, filled)
      return processes.java({
        name: `mm2-${how}.${cell.topic}.${round}`,
        jvm: ['-Xms512m', '-Xmx1g', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'],
        main: 'org.apache.kafka.connect.mirror.MirrorMaker',
        args: [path],
      })
    },
  }
}
