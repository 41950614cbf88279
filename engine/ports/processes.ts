/** Containers of one machine: processes of ours (CLOUD D-42). */
export interface Processes {
  /** Starts one. What cannot be started ends at once, with the reason in its exit. */
  start(group: string, on: ProcessEvents): Process
}

export type ProcessEvents = {
  /** A whole line of what it says, without its end. */
  line(text: string): void
  /** What it told its parent, such as where it listens. */
  told(message: unknown): void
}

export type Process = {
  readonly pid: number | null
  readonly exited: Promise<Exit>
  /** Asks it to stop in order. */
  stop(): void
  /** Ends it at once. */
  kill(): void
  /** Asks it to read its configuration again. */
  hangUp(): void
}

/** `code` null: it was ended by `signal`, or it could not be started and `error` says why. */
export type Exit = { code: number | null; signal: string | null; error: string | null }
