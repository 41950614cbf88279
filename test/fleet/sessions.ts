import { memoryCoordinator } from '../../engine/adapters/memory/coordinator.ts'
import { memoryTree, type Tree } from '../../engine/adapters/memory/tree.ts'
import { MillraceError } from '../../engine/errors.ts'
import type { Coordinator, Node, Op, OpenCoordinator, Phase } from '../../engine/ports/coordinator.ts'

/** Between one process and the documents: what can be cut, and what ends. */
export type Line = {
  open: OpenCoordinator
  /** Nothing passes, in both directions; sessions stand. */
  cut(): void
  mend(): void
  /** The server ends the session in use; its documents go. */
  expire(): void
  /** The next write is done, and its answer is lost. */
  loseAnswer(): void
  /** Sessions opened so far. */
  sessions: number
  ops: string[]
}

/** Many processes over the same documents, each over a line of its own. */
export function fleetTree() {
  const tree = memoryTree()
  let opened = 0
  const line = (): Line => lineOver(tree, () => `s${++opened}`)
  const outside = memoryCoordinator(tree, { session: 'outside', timeoutMs: 10_000 })
  return {
    tree,
    line,
    node: (path: string): Node | null => tree.read(path),
    write: (...ops: Op[]) => outside.write(ops),
  }
}

function lineOver(tree: Tree, name: () => string): Line {
  let away = false
  let forgets = false
  let current: { inner: Coordinator; tell(): void } | null = null

  function check(): void {
    if (away) throw new MillraceError('coordination-unreachable', 'the line is cut', { retryable: true })
  }

  function open(): Coordinator {
    line.sessions++
    const inner = memoryCoordinator(tree, { session: name(), timeoutMs: 10_000 })
    const listeners = new Set<(phase: Phase) => void>()
    let everConnected = false
    const phase = (): Phase => {
      if (inner.state().phase === 'lost') return 'lost'
      if (!away) everConnected = true
      return away ? (everConnected ? 'suspended' : 'connecting') : 'connected'
    }
    phase()
    const tell = () => {
      for (const listener of listeners) listener(phase())
    }
    inner.changed(tell, new AbortController().signal)
    current = { inner, tell }
    return {
      ...inner,
      state: () => ({ ...inner.state(), phase: phase() }),
      changed(listener, signal) {
        listeners.add(listener)
        signal.addEventListener('abort', () => listeners.delete(listener), { once: true })
      },
      async read(path) {
        check()
        return await inner.read(path)
      },
      async children(path) {
        check()
        return await inner.children(path)
      },
      async write(ops) {
        check()
        line.ops.push(ops.map(op => `${op.do} ${op.path}`).join(', '))
        const written = await inner.write(ops)
        if (!forgets) return written
        forgets = false
        throw new MillraceError('outcome-unknown', 'the answer is lost')
      },
      async beat(path, data, version) {
        check()
        return await inner.beat(path, data, version)
      },
      async close() {
        // A process that is cut off cannot say goodbye: its session stands until it expires.
        if (away) Object.assign(inner, { state: () => ({ session: null, timeoutMs: 10_000, phase: 'lost' }) })
        else await inner.close()
        tell()
      },
    }
  }

  const line: Line = {
    open,
    cut() {
      away = true
      current?.tell()
    },
    mend() {
      away = false
      current?.tell()
    },
    expire: () => void current?.inner.close(),
    loseAnswer() {
      forgets = true
    },
    sessions: 0,
    ops: [],
  }
  return line
}
