import type { Jars } from '../jars.ts'
import { jvmFiles } from '../jvmFiles.ts'

/**
 * Arguments of `java` for a class of Kafka. The log level stays at info: the ready line is info. `folder` exists
 * and ends with the set.
 */
export function jvmArgs(
  jars: Jars,
  heapMb: number,
  folder: string,
  more: { tuned?: boolean; archive?: string | null } = {},
): string[] {
  return [
    `-Xmx${heapMb}m`,
    ...jvmFiles(folder),
    // G1 and both compilers for benchmarks, else the cheapest start.
    ...(more.tuned ? ['-XX:+UseG1GC'] : ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']),
    ...(more.archive ? [more.archive] : []),
    '-Xlog:cds=off',
    '-Xlog:cds+dynamic=off',
    '-Djava.awt.headless=true',
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=info',
    '-Dorg.slf4j.simpleLogger.showDateTime=true',
    '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
    '-cp',
    jars.classPath,
  ]
}
