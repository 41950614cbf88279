import { randomBytes } from 'node:crypto'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hashOf } from '../cache.ts'
import { startChild } from '../child.ts'
import { RigError } from '../errors.ts'
import type { Jars } from '../jars.ts'
import { formatMs } from '../limits.ts'
import type { RigContext } from '../part.ts'
import { findTool } from '../tools.ts'
import { jvmArgs } from './jvm.ts'
import type { User } from './options.ts'

/** 22 characters, as Kafka writes its ids. */
export function newId(): string {
  return randomBytes(16).toString('base64url')
}

/**
 * The `bootstrap.checkpoint` of a directory formatted with these users, from the cache. The format is of one
 * metadata version, so it lies in the folder of the jars that made it.
 */
export async function templateOf(users: User[], jars: Jars, ctx: RigContext): Promise<string> {
  const format = users.flatMap(({ name, password }) =>
    ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap(kind => ['--add-scram', `${kind}=[name=${name},password=${password}]`]),
  )
  const path = join(jars.folder, `template-${hashOf(format.join('\n'))}.checkpoint`)
  return ctx.cache.make(path, ctx.guard, temporary => formatTemplate(format, jars, ctx, temporary))
}

async function formatTemplate(format: string[], jars: Jars, ctx: RigContext, temporary: string): Promise<string> {
  ctx.progress('formatting a template')
  const java = await findTool('java')
  const data = join(temporary, 'data')
  const file = join(temporary, 'server.properties')
  await writeFile(
    file,
    `process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:1\ncontroller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=${data}\n`,
  )
  const order = ['kafka.tools.StorageTool', 'format', '-t', newId(), '-c', file, ...format]
  const name = `${ctx.name}.format`
  const child = await startChild({ name, command: java.path, args: [...jvmArgs(jars, 256, temporary), ...order] }, ctx)
  const late = setTimeout(() => void child.kill(), formatMs)
  const { code } = await child.exited
  clearTimeout(late)
  ctx.signal.throwIfAborted()
  if (code === 0) return join(data, 'bootstrap.checkpoint')
  const more = { part: ctx.name, log: child.log, lines: child.tail() }
  throw new RigError('rig-start', `${ctx.name}: the format of a log directory ended with exit ${code}`, more)
}

/** Makes the log directory of one node: the template and a `meta.properties` of its own. */
export async function formatData(dataDir: string, template: string, clusterId: string, nodeId: number): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  await copyFile(template, join(dataDir, 'bootstrap.checkpoint'))
  const meta = ['version=1', `cluster.id=${clusterId}`, `node.id=${nodeId}`, `directory.id=${newId()}`]
  await writeFile(join(dataDir, 'meta.properties'), `${meta.join('\n')}\n`)
}
