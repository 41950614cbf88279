type Kind = 'data' | 'children'
type Watch = {
  listeners: Set<() => void>
  /** It stands at the server, or is asked for. */
  armed: boolean
  /** The one function of this path and kind: the library calls each that it was ever given (C-87). */
  fired(): void
}

/** Asks the server for a watch; `gone` when that did not come about. Nothing when there is no connection. */
export type Arm = (path: string, kind: Kind, fired: () => void, gone: () => void) => void

export type Watches = {
  add(path: string, kind: Kind, onHint: () => void, signal: AbortSignal): void
  /** After a connection is there: whatever could not be asked for meanwhile is, and hinted at. */
  rearm(): void
  /** The session is over. */
  end(): void
}

/**
 * Watches as levels: one stands until its signal, over each hint and each reconnection. It is asked for again **before**
 * the hint is passed on: what the owner reads then goes to the server behind it, so no change falls between the two.
 * Those that stand when a connection is lost the library sets again with what it saw last, and the server tells what
 * happened since.
 */
export function watches(connected: () => boolean, arm: Arm): Watches {
  const all = new Map<string, Watch>()
  let ended = false

  function make(path: string, kind: Kind): Watch {
    const watch: Watch = { listeners: new Set(), armed: false, fired }
    function fired(): void {
      watch.armed = false
      if (watch.listeners.size === 0) return void all.delete(`${kind} ${path}`)
      set(path, kind, watch)
      tell(watch)
    }
    return watch
  }

  function set(path: string, kind: Kind, watch: Watch): void {
    if (watch.armed || ended || !connected()) return
    watch.armed = true
    arm(path, kind, watch.fired, () => {
      watch.armed = false
    })
  }

  return {
    add(path, kind, onHint, signal) {
      if (signal.aborted || ended) return
      const key = `${kind} ${path}`
      const watch = all.get(key) ?? make(path, kind)
      all.set(key, watch)
      const listener = () => onHint()
      watch.listeners.add(listener)
      signal.addEventListener(
        'abort',
        () => {
          watch.listeners.delete(listener)
          if (watch.listeners.size === 0 && !watch.armed) all.delete(key)
        },
        { once: true },
      )
      set(path, kind, watch)
    },
    rearm() {
      for (const [key, watch] of [...all]) {
        if (watch.armed) continue
        const space = key.indexOf(' ')
        set(key.slice(space + 1), key.slice(0, space) as Kind, watch)
        tell(watch)
      }
    },
    end() {
      ended = true
      all.clear()
    },
  }
}

/** In a turn of its own: an owner that throws must not be taken for a broken line. */
function tell(watch: Watch): void {
  for (const listener of watch.listeners) queueMicrotask(listener)
}
