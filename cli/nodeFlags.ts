/**
 * How Node is started for the command; `cli/start.mjs` and `package.json` say the same, and a test holds them together.
 * The warning is kafkajs's (KAFKA-CLIENT W-4). Batches lie outside the heap, so its young generation is small: 4 MiB in
 * place of 16 keep 20 MiB of RSS, less would be collected too often. One thread collects it: several on few cores only
 * wait for each other (docs/decisions/0005).
 */
export const nodeFlags: readonly string[] = [
  '--disable-warning=TimeoutNegativeWarning',
  '--max-semi-space-size=4',
  '--single-threaded-gc',
]
