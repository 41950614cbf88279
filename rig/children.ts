import { type Child, type ChildSpec, startChild } from './child.ts'
import { type Jars, jarsOf } from './jars.ts'
import { jvmFiles } from './jvmFiles.ts'
import type { Exit, Part, Running } from './part.ts'
import { findTool } from './tools.ts'
import { kafkaJars } from './versions.ts'

/** Processes of the caller's choice, ended with the set: what benchmarks and long runs start beside the brokers. */
export interface Children extends Running<null> {
  start(spec: ChildSpec): Promise<Child>
  /** Starts a class of Kafka's jars (a tool, MirrorMaker). */
  java(spec: { name: string; jvm?: string[]; main: string; args: string[] }): Promise<Child>
  readonly dir: string
}

export const children: Part<Record<string, never>, Children> = {
  name: 'children',
  needs: async () => ['java'],
  memoryMb: () => 0,
  read: () => ({}),
  async start(_options, ctx) {
    const jars: Jars = await jarsOf(kafkaJars, ctx)
    const running: Child[] = []
    const start = async (spec: ChildSpec) => {
      const child = await startChild(spec, ctx)
      running.push(child)
      return child
    }
    const each = (act: (child: Child) => unknown) => Promise.all(running.map(act)).then(() => {})
    return {
      name: ctx.name,
      address: null,
      dir: ctx.dir,
      log: '',
      get pids() {
        return []
      },
      // No process of its own: it ends when the set does.
      exited: new Promise<Exit>(() => {}),
      stop: () => each(child => child.stop()),
      kill: () => each(child => child.kill()),
      pause: () => each(child => child.pause()),
      resume: () => void each(child => child.resume()),
      restart: () => Promise.reject(new Error('children have no common restart')),
      start,
      async java(spec) {
        const { path } = await findTool('java')
        const args = [...jvmFiles(ctx.dir), ...(spec.jvm ?? []), '-cp', jars.classPath, spec.main, ...spec.args]
        return start({ name: spec.name, command: path, args })
      },
    }
  },
}
