import { quietMs } from './limits.ts'

/**
 * Progress of a start: on `stream`, only if it is a terminal, and nothing of a start that takes less than 2 s.
 * `stop` ends it.
 */
export function progressAt(stream: NodeJS.WriteStream): { line(name: string, line: string): void; stop(): void } {
  if (!stream.isTTY) return { line: () => {}, stop: () => {} }
  const held = new Map<string, string>()
  let open = false
  const write = (name: string, line: string) => void stream.write(`${name}  ${line}\n`)
  const timer = setTimeout(() => {
    open = true
    for (const [name, line] of held) write(name, line)
  }, quietMs)
  return {
    line: (name, line) => {
      // A count that stands still is no progress.
      if (held.get(name) === line) return
      held.set(name, line)
      if (open) write(name, line)
    },
    stop: () => clearTimeout(timer),
  }
}
