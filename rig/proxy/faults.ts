/** The faults of one direction of a proxy; no field = a clean line. They may be combined. */
export interface Faults {
  /** Every piece comes so much later. */
  latencyMs?: number
  /** On top of `latencyMs`, by chance between 0 and this; order is kept. */
  jitterMs?: number
  bytesPerSecond?: number
  /** Open and silent: bytes, half-close and reset are held until the fault goes, then pass in order. */
  blackHole?: boolean
  /**
   * RST for every new connection. Upwards the target never hears of it; downwards the target has accepted first, and is
   * reset too.
   */
  refuse?: boolean
  /** Counted for each connection from the moment the fault is set: exactly so many pass, then RST both ways. */
  cutAfterBytes?: number
  /** Nothing is read: the sender's own buffers fill, then it has to wait. */
  stall?: boolean
}

/** `up` is from the client to the target, `down` is the way back. */
export type Direction = 'up' | 'down'
