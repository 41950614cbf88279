import { appendFileSync } from 'node:fs'
import type { JsonLine } from '../../test/live/millrace.ts'
import { type FlowWords, type RunningFlow, runFlow } from '../../test/live/runFile.ts'

/** One mirror after another: `millrace run`, killed and started again. */
export type Mirrors = {
  /** SIGKILL, some quiet, and the next one. */
  kill(quiet: () => Promise<void>): Promise<void>
  /** When the last one shows so many topics and all of them running, without lag. */
  settled(topics: number): Promise<unknown>
  /** SIGTERM to the last one; gives its exit code. */
  stop(): Promise<number | null>
  /** What those that have ended have said, in order. */
  readonly events: readonly JsonLine[]
  /** Rejects when one ends by itself. */
  readonly died: Promise<never>
}

export async function startMirrors(
  flow: string,
  words: FlowWords,
  how: { east: { bootstrap: string }; west: { bootstrap: string }; signal: AbortSignal; log: string | null },
): Promise<Mirrors> {
  const events: JsonLine[] = []
  const died = Promise.withResolvers<never>()
  died.promise.catch(() => {})
  let asked = false
  const start = async () => {
    const running = await runFlow(flow, words, how)
    asked = false
    running.ended.then(({ code, lines, stdout, stderr }) => {
      if (how.log !== null) appendFileSync(how.log, `${stdout}\n${stderr}\n`)
      events.push(...lines.filter(line => line.type === 'event'))
      if (!asked) died.reject(new Error(`the mirror ended by itself with ${code}:\n${stderr}`))
    }, died.reject)
    return running
  }
  const end = async ({ child, ended }: RunningFlow, signal: NodeJS.Signals) => {
    asked = true
    child.kill(signal)
    return await ended
  }
  let running = await start()
  return {
    events,
    died: died.promise,
    async kill(quiet) {
      await end(running, 'SIGKILL')
      await quiet()
      running = await start()
    },
    settled(topics) {
      const since = new Date().toISOString()
      return running.line(line => {
        if (line.type !== 'progress' || String(line['at']) < since) return false
        return line['topics'] === topics && line['notRunning'] === 0 && line['lagRecords'] === 0
      })
    },
    async stop() {
      const { code, stderr } = await end(running, 'SIGTERM')
      if (code !== 0) process.stderr.write(`${stderr}\n`)
      return code
    },
  }
}
