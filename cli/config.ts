/** The environment of commands that ask a fleet (DESIGN §8): these names and no other. */
export const cliEnv = {
  /** Where the API is. */
  api: 'MILLRACE_API',
  /** Who asks: a bearer token. It is in no flag, for flags are seen by every user of a machine. */
  token: 'MILLRACE_TOKEN',
} as const
