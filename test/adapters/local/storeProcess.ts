import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { machineClock } from '../../../engine/adapters/local/clock.ts'
import { fileStore } from '../../../engine/adapters/local/fileStore.ts'
import { storeLock } from '../../../engine/adapters/local/fileStoreLock.ts'
import { MillraceError } from '../../../engine/errors.ts'
import type { Only } from '../../../engine/ports/store.ts'

/** One thing that another process does with its own store over a folder. Bodies are one character, repeated. */
export type Asked =
  | { do: 'put'; key: string; fill: string; bytes: number; only?: Only }
  | { do: 'get'; key: string }
  | { do: 'list' }
  | { do: 'delete'; key: string }
  /** Adds one to a number, so many times, each over what it read; gives how often somebody else was faster. */
  | { do: 'count'; key: string; times: number }
  /** Puts whole bodies for ever, after it has said so. */
  | { do: 'forever'; keys: string[]; bytes: number }
  /** Takes the lock and keeps it, after it has said so. */
  | { do: 'hold' }

/** What it answered, or the code of the fault. */
export type Told = { ok: unknown } | { code: string; message: string }
export type StoreProcess = {
  child: ChildProcess
  ask(asked: Asked): Promise<Told>
  /** Ends it, however it is. */
  end(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>
}

const script = fileURLToPath(import.meta.url)

/** `around`: a command that runs the given one, in a place of its own say. */
export function storeProcess(root: string, how: { around?: string[]; uid?: number } = {}): StoreProcess {
  const [command = '', ...rest] = [...(how.around ?? []), process.execPath, script, root]
  const child = spawn(command, rest, {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(how.uid === undefined ? {} : { uid: how.uid, gid: how.uid }),
  })
  const exited = new Promise<void>(resolve => child.once('close', () => resolve()))
  const lines = createInterface({ input: child.stdout })
  child.stdin.on('error', () => {})
  return {
    child,
    async ask(asked) {
      const line = Promise.race([
        once(lines, 'line'),
        exited.then(() => {
          throw new Error('the process has ended')
        }),
      ])
      child.stdin.write(`${JSON.stringify(asked)}\n`)
      return JSON.parse(String((await line)[0]))
    },
    async end(signal = 'SIGKILL') {
      child.kill(signal)
      await exited
    },
  }
}

async function serve(root: string): Promise<void> {
  const clock = machineClock()
  const store = fileStore(root, { clock, chance: Math.random })
  const bodyOf = (fill: string, bytes: number) => Buffer.alloc(bytes, fill)
  const tell = (told: Told) => process.stdout.write(`${JSON.stringify(told)}\n`)

  async function done(asked: Asked): Promise<unknown> {
    switch (asked.do) {
      case 'put':
        return store.put(asked.key, bodyOf(asked.fill, asked.bytes), asked.only)
      case 'get': {
        const got = await store.get(asked.key)
        const fill = got ? String.fromCharCode(got.body[0] ?? 0) : ''
        return got && { bytes: got.bytes, fill, whole: got.body.equals(bodyOf(fill, got.bytes)) }
      }
      case 'list':
        return (await store.list('')).objects
      case 'delete':
        return store.delete(asked.key)
      case 'count': {
        let late = 0
        for (let times = 0; times < asked.times; ) {
          const found = await store.get(asked.key)
          if (!found) throw new Error('nothing to count on')
          const next = Buffer.from(String(Number(found.body.toString()) + 1))
          if ((await store.put(asked.key, next, { ifMatch: found.tag })).done) times++
          else late++
        }
        return late
      }
      case 'forever':
        tell({ ok: 'begun' })
        for (let n = 0; ; n++) {
          const key = asked.keys[n % asked.keys.length] ?? ''
          await store.put(key, bodyOf(String.fromCharCode(97 + (n % 26)), asked.bytes))
        }
      case 'hold':
        await storeLock(`${root}/.millrace`, clock)('hold', async () => {
          tell({ ok: 'held' })
          await new Promise(() => {})
        })
    }
  }

  const input = createInterface({ input: process.stdin })
  // Whoever asked is gone: what runs for ever must not.
  input.once('close', () => process.exit(0))
  for await (const line of input) {
    try {
      tell({ ok: (await done(JSON.parse(line))) ?? null })
    } catch (error) {
      const code = error instanceof MillraceError ? error.code : 'unknown'
      tell({ code, message: error instanceof Error ? error.message : String(error) })
    }
  }
}

if (process.argv[1] === script) await serve(process.argv[2] ?? '')
