/** Time, handed in (STYLE 7). */
export interface Clock {
  /** Monotonic milliseconds; only differences mean something. */
  nowMs(): number
  /** Milliseconds since 1970, for what is written down; never for a wait. */
  wallMs(): number
  /** Calls `then` once after `ms`; gives the function that cancels it. */
  after(ms: number, then: () => void): () => void
}

/** Chance, handed in: 0 ≤ x < 1. */
export type Chance = () => number
