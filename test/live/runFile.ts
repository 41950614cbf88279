import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Ended, type JsonLine, millrace, type RunningMillrace } from './millrace.ts'

/** One entry of `flows:` of kind mirror from east to west, without what all of them have. */
export type FlowWords = Record<string, unknown> & { topics: Record<string, unknown> }

export type RunningFlow = RunningMillrace & {
  /** Writes the flow anew and has the file read at once; resolves when it is in force. */
  edit(words: FlowWords): Promise<void>
}

/** `millrace run` on a file of one mirror from east to west that looks each second (MIRROR §7). It runs when it resolves. */
export async function runFlow(
  flow: string,
  words: FlowWords,
  how: { east: { bootstrap: string }; west: { bootstrap: string }; signal: AbortSignal },
): Promise<RunningFlow> {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-run-'))
  const file = join(dir, 'millrace.yaml')
  const write = (of: FlowWords) => {
    const clusters = {
      east: { brokers: how.east.bootstrap.split(',') },
      west: { brokers: how.west.bootstrap.split(',') },
    }
    const topics = { refreshMs: 1_000, ...of.topics }
    const flows = { [flow]: { kind: 'mirror', from: 'east', to: 'west', ...of, topics } }
    // JSON is YAML too.
    writeFileSync(file, JSON.stringify({ clusters, flows }))
  }
  write(words)
  const running = millrace(['run', '-c', file], how.signal)
  const clean = () => rmSync(dir, { recursive: true, force: true })
  running.ended.then(clean, clean)
  // Its file is watched from then on.
  await running.line(line => line.type === 'progress')
  let seq = 0
  return {
    ...running,
    async edit(of) {
      write(of)
      running.child.kill('SIGHUP')
      const read = 'the configuration was read again'
      const found = await running.logged(line => line['msg'] === read && Number(line['seq']) > seq)
      seq = Number(found['seq'])
    },
  }
}

/** Asks real brokers again until they give what is not null: of what they do nobody tells us. */
export async function eventually<T>(ask: () => Promise<T | null>, signal: AbortSignal): Promise<T> {
  for (;;) {
    const found = await ask().catch(() => null)
    if (found !== null) return found
    await delay(100, undefined, { signal })
  }
}

/** Ends a flow with SIGTERM and gives its exit code. */
export async function stopped(running: RunningMillrace): Promise<number | null> {
  running.child.kill('SIGTERM')
  return (await running.ended).code
}

/** What the summary of the only flow says of its topics. */
export function summaryTopics({ lines, stderr }: Ended): JsonLine[] {
  const last = lines.at(-1)
  if (last?.type !== 'summary') throw new Error(`it ended without a summary:\n${stderr}`)
  return last['topics'] as JsonLine[]
}
