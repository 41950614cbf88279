import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startChild } from '../child.ts'
import type { Jars } from '../jars.ts'
import { kafkaReadyMs } from '../limits.ts'
import type { RigContext } from '../part.ts'
import { untilReady } from '../running.ts'
import { findTool } from '../tools.ts'
import { jvmArgs } from './jvm.ts'
import { askCluster } from './metadata.ts'
import { planOf } from './options.ts'
import { brokerProperties } from './properties.ts'
import { formatData, newId } from './template.ts'

/** The line that a broker writes when its listeners serve; before the last of a quorum has joined (RIG §6). */
export const kafkaReadyLine = /Kafka Server started/

/**
 * The flag that makes a broker start from the class archive. The archive is made once by a broker on a
 * throw-away directory. Null when it could not be made: a start without it is only slower.
 */
export async function archiveFlag(template: string, jars: Jars, ctx: RigContext): Promise<string | null> {
  const java = await findTool('java')
  const path = join(jars.folder, `${java.version.replaceAll(/[^\w.+-]/g, '_')}.jsa`)
  const made = await ctx.cache
    .make(path, ctx.guard, temporary => makeArchive(template, jars, ctx, temporary))
    .catch(() => null)
  ctx.signal.throwIfAborted()
  return made === null ? null : `-XX:SharedArchiveFile=${made}`
}

async function makeArchive(template: string, jars: Jars, ctx: RigContext, temporary: string): Promise<string> {
  ctx.progress('making the class archive, once')
  const java = await findTool('java')
  const [plain, controller] = [await ctx.ports.take(), await ctx.ports.take()]
  const ports = { id: 1, plain, controller, listeners: {}, proxied: null }
  const plan = planOf({})
  const data = join(temporary, 'data')
  const archive = join(temporary, 'classes.jsa')
  const file = join(temporary, 'server.properties')
  await formatData(data, template, newId(), 1)
  await writeFile(file, brokerProperties(plan, [ports], ports, data, null))
  const args = [
    ...jvmArgs(jars, plan.heapMb, temporary, { archive: `-XX:ArchiveClassesAtExit=${archive}` }),
    'kafka.Kafka',
    file,
  ]
  const name = `${ctx.name}.archive`
  const child = await startChild({ name, command: java.path, args, ready: kafkaReadyLine }, ctx)
  await untilReady(child, name, { limitMs: kafkaReadyMs, ask: () => askCluster([plain], [1]) })
  await child.stop()
  await access(archive)
  return archive
}
