import type { Fault } from '../errors.ts'

/**
 * What a fleet needs of a place that all its processes see, in our words (COORDINATION §7): small documents in a tree,
 * versions, sessions whose end takes their documents along. Paths begin with `/`, below the chroot of the fleet.
 */
export interface Coordinator {
  state(): CoordinatorState
  /** Told in the turn in which the phase changes: nobody needs to poll. */
  changed(listener: (phase: Phase) => void, signal: AbortSignal): void
  /** Null: not there. */
  read(path: string): Promise<Node | null>
  /** All or nothing (C-70). */
  write(ops: readonly Op[]): Promise<Written>
  /** Writes a process's own document, to show that a quorum knows it (C-3). Gives the new version. */
  beat(path: string, data: string, version: number): Promise<number>
  /**
   * Hints may repeat, merge and get lost (C-48): whoever gets one looks. It holds until `signal`, over hints and
   * reconnections; what is read after this call, on the same object, or after a hint is the state that it watches from.
   */
  watch(path: string, kind: 'data' | 'children', onHint: () => void, signal: AbortSignal): void
  /** Names, not paths, in no order; of a path that is not there: none. */
  children(path: string): Promise<string[]>
  /** What belongs to the session goes with it. The phase is `lost`, with or without an answer. */
  close(): Promise<void>
}

/** One session each: at first `connecting` or at once `connected`; after `lost` it is dead, its owner opens another (C-80). */
export type OpenCoordinator = () => Coordinator

export type CoordinatorState = {
  /** Of the session in use; null: none yet. */
  session: string | null
  /** What the server granted (C-4). */
  timeoutMs: number
  phase: Phase
  /** Why it is not connected, as far as that is known: each server, its last error, since when. */
  trouble: Fault | null
}

export type Phase = 'connecting' | 'connected' | 'suspended' | 'lost'

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
/** `paths` and `versions` stand in the order of the operations; where nothing was written, the version asked for, or -1. */
export type Written = { done: true; paths: string[]; versions: number[] } | { done: false; refused: Refused }

/*
 * Every promise settles within its deadline (C-70): 5 s, a beat S/5, `close` 2 s. It rejects with a MillraceError:
 * `too-large` (not sent), `coordination-denied`, `coordination-unreachable` (certainly not done; a read that was not
 * answered), `outcome-unknown` (a write that was sent and not answered: read before it is repeated), `session-lost`
 * (also a beat whose document is gone or has another version: read it, C-3).
 */
