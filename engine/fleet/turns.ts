/** A limit to how many do something at once: the others wait for their turn, in order. */
export type Turns = {
  /** Calls `go` when it is its turn; the turn lasts until what is given is called, which also takes back one that waits. */
  take(go: () => void): () => void
}

export function turnsOf(atOnceMax: number): Turns {
  const waiting = new Set<() => void>()
  let open = 0

  function next(): void {
    for (const go of waiting) {
      if (open >= atOnceMax) return
      waiting.delete(go)
      open++
      go()
    }
  }

  return {
    take(go) {
      let isOver = false
      let hasTurn = false
      const mine = () => {
        hasTurn = true
        go()
      }
      waiting.add(mine)
      next()
      return () => {
        if (isOver) return
        isOver = true
        waiting.delete(mine)
        if (!hasTurn) return
        open--
        next()
      }
    },
  }
}
