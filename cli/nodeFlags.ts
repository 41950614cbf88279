/**
 * How Node is started for the command; `cli/start.mjs` and `package.json` say the same, and a test holds them together.
 * The warning is kafkajs's (KAFKA-CLIENT W-4). The young generation of the heap holds only small things here, batches
 * lie outside: 2 MiB in place of 16 cost no CPU and keep 20 MiB of RSS.
 */
export const nodeFlags: readonly string[] = ['--disable-warning=TimeoutNegativeWarning', '--max-semi-space-size=2']
