import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openCache } from '../../rig/cache.ts'
import { findTool } from '../../rig/tools.ts'
import { kafkaJars } from '../../rig/versions.ts'

/** Runs a class of Kafka's own tools, as an independent witness; gives its lines, rejects with its error output. */
export async function javaTool(className: string, args: string[]): Promise<string[]> {
  const java = await findTool('java')
  const jars = join(openCache().path(kafkaJars.kind, kafkaJars.pom), 'jars')
  const classPath = readdirSync(jars)
    .filter(name => name.endsWith('.jar'))
    .sort()
    .map(name => join(jars, name))
    .join(':')
  const quick = [
    '-Xmx256m',
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=error',
  ]
  const child = spawn(java.path, [...quick, '-cp', classPath, className, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', (bytes: Buffer) => out.push(bytes))
  child.stderr.on('data', (bytes: Buffer) => err.push(bytes))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${className} ended with ${code}: ${Buffer.concat([...err, ...out])}`)
  return Buffer.concat(out).toString().split('\n').filter(Boolean)
}

/** Every record of the topics that match, one line each: partition, offset, timestamp, headers, key, value, by tabs. */
export function consumeByJava(bootstrap: string, include: string, count: number): Promise<string[]> {
  const shown = ['partition', 'offset', 'timestamp', 'headers', 'key', 'value']
  return javaTool('org.apache.kafka.tools.consumer.ConsoleConsumer', [
    ...['--bootstrap-server', bootstrap, '--include', include, '--from-beginning', '--max-messages', String(count)],
    ...['--timeout-ms', '20000', '--command-property', 'isolation.level=read_committed'],
    ...shown.flatMap(field => ['--formatter-property', `print.${field}=true`]),
  ])
}
