/**
 * What a fleet needs of a place that all its processes see, in our words (COORDINATION §7): small documents in a tree,
 * versions, sessions whose end takes their documents along. Paths begin with `/`, below the chroot of the fleet.
 */
export interface Coordinator {
  state(): CoordinatorState
  /** Null: not there. */
  read(path: string): Promise<Node | null>
  /** All or nothing (C-70). */
  write(ops: readonly Op[]): Promise<Written>
  /** Writes a process's own document, to show that a quorum knows it (C-3). Gives the new version. */
  beat(path: string, data: string, version: number): Promise<number>
  /** Hints may repeat, merge and get lost (C-48): whoever gets one looks. */
  watch(path: string, kind: 'data' | 'children', onHint: () => void, signal: AbortSignal): void
  /** Names, not paths, in no order; of a path that is not there: none. */
  children(path: string): Promise<string[]>
  close(): Promise<void>
}

export type CoordinatorState = {
  /** Of the session in use; null: none yet. */
  session: string | null
  /** What the server granted (C-4). */
  timeoutMs: number
  phase: 'connecting' | 'connected' | 'suspended' | 'lost'
}

export type Node = {
  data: string
  /** 0 after creation, one more with each write. */
  version: number
  /** Of the last write and of the creation: never the same twice, also over a deletion. */
  tag: string
  created: string
  /** The session of an ephemeral one. */
  owner: string | null
}

/** `version` null: whatever it is. A sequential path gets a number behind it that only grows. */
export type Op =
  | { do: 'create'; path: string; data: string; mode: 'persistent' | 'ephemeral' | 'sequential' }
  | { do: 'set'; path: string; data: string; version: number | null }
  | { do: 'remove'; path: string; version: number | null }
  | { do: 'check'; path: string; version: number }

/** Why nothing was written: the first operation that could not be done. */
export type Refused = { index: number; why: 'changed' | 'exists' | 'missing' | 'not-empty' }
/** `paths` and `versions` stand in the order of the operations. */
export type Written = { done: true; paths: string[]; versions: number[] } | { done: false; refused: Refused }

/*
 * Every promise settles within its deadline (C-70) and rejects with a MillraceError: `too-large` (not sent),
 * `coordination-denied`, `coordination-unreachable` (certainly not done), `outcome-unknown` (sent, no answer: read
 * before it is repeated), `session-lost`.
 */
