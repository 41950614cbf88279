import { MillraceError } from '../../errors.ts'
import { refuseTooLarge } from '../../flow/refuseTooLarge.ts'
import type { Coordinator, Op, Phase, Written } from '../../ports/coordinator.ts'
import type { Tree } from './tree.ts'

/** One session over documents in memory (C-66): it is connected as long as it is open. */
export function memoryCoordinator(tree: Tree, how: { session: string; timeoutMs: number }): Coordinator {
  const { session, timeoutMs } = how
  let phase: Phase = 'connected'
  const listeners = new Set<(phase: Phase) => void>()

  function alive(): void {
    if (phase === 'lost') throw new MillraceError('session-lost', `the session ${session} is closed`)
  }

  function write(ops: readonly Op[]): Written {
    alive()
    refuseTooLarge(ops)
    return tree.write(ops, session)
  }

  return {
    state: () => ({ session: phase === 'lost' ? null : session, timeoutMs, phase, trouble: null }),
    changed(listener, signal) {
      if (signal.aborted) return
      listeners.add(listener)
      signal.addEventListener('abort', () => listeners.delete(listener), { once: true })
    },
    async read(path) {
      alive()
      return tree.read(path)
    },
    write: async ops => write(ops),
    async beat(path, data, version) {
      const written = write([{ do: 'set', path, data, version }])
      if (written.done) return written.versions[0] ?? version + 1
      throw new MillraceError('session-lost', `${path}: the document of this session is not there as it was left`)
    },
    watch(path, kind, onHint, signal) {
      if (signal.aborted) return
      const off = tree.onChange(change => {
        if (change.path === path && change.kind === kind) queueMicrotask(onHint)
      })
      signal.addEventListener('abort', off, { once: true })
    },
    async children(path) {
      alive()
      return tree.children(path)
    },
    async close() {
      if (phase === 'lost') return
      phase = 'lost'
      tree.end(session)
      for (const listener of listeners) listener(phase)
    },
  }
}
