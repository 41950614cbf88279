/** What a proxy tells those who wait for it instead of sleeping. */
import type { Direction } from './faults.ts'

export interface ProxyEvents {
  /** The number of the connection, from 1. */
  connection: [number]
  /** So many bytes went through; a separate process sums them up for up to 50 ms. */
  bytes: [Direction, number]
}

export type ProxyListener<E extends keyof ProxyEvents> = (...args: ProxyEvents[E]) => void

export function proxyEvents() {
  const listeners: { [E in keyof ProxyEvents]: Set<ProxyListener<E>> } = { connection: new Set(), bytes: new Set() }
  return {
    /** Returns the call that ends the listening. */
    on<E extends keyof ProxyEvents>(event: E, listener: ProxyListener<E>): () => void {
      listeners[event].add(listener)
      return () => {
        listeners[event].delete(listener)
      }
    },
    emit<E extends keyof ProxyEvents>(event: E, ...args: ProxyEvents[E]): void {
      for (const listener of listeners[event]) listener(...args)
    },
  }
}
