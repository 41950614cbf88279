/** What a process of a fleet ends with (DESIGN §9); commands have codes of their own. */
export const processExit = {
  clean: 0,
  fault: 1,
  /** The stop took too long, and what was in flight was given up. */
  aborted: 70,
  /** What it needs for its start was not there in time: to be started again (C-64). */
  unreached: 75,
  /** A configuration that a start anew does not mend. */
  refused: 78,
} as const
