import { RigError } from '../errors.ts'

/** What `./dev up` was asked for (RIG R-35). */
export type UpWords = {
  /** Copy a bounded load, compare both sides, end. */
  check: boolean
  /** Brokers that exist, `host:port,…`; null = the rig starts two clusters. */
  brokers: { from: string; to: string } | null
  /** A controller and three workers in place of one process. */
  fleet: boolean
  /** No question before topics are created on brokers that exist. */
  yes: boolean
}

export const usage = `usage: ./dev up [--check]                                      two clusters of the rig
       ./dev up --fleet                                        with ZooKeeper, a controller and three workers
       ./dev up [--check] --from HOST:PORT --to HOST:PORT [--yes]   brokers that exist`

/** Pure; throws `rig-usage`. */
export function parseUp(argv: readonly string[]): UpWords | 'help' {
  if (argv.includes('--help') || argv.includes('-h')) return 'help'
  const words: UpWords = { check: false, fleet: false, brokers: null, yes: false }
  const given: { from: string | null; to: string | null } = { from: null, to: null }
  const wrong = (message: string) => new RigError('rig-usage', message, { hint: usage })
  for (let at = 0; at < argv.length; at++) {
    const [flag = '', joined] = (argv[at] ?? '').split('=')
    if (flag === '--check') words.check = true
    else if (flag === '--fleet') words.fleet = true
    else if (flag === '--yes') words.yes = true
    else if (flag === '--from' || flag === '--to') {
      const value = joined ?? argv[++at] ?? ''
      if (!/^[^\s,]+:\d+(,[^\s,]+:\d+)*$/.test(value)) throw wrong(`${flag}: expected HOST:PORT, found '${value}'`)
      given[flag === '--from' ? 'from' : 'to'] = value
    } else throw wrong(`unknown option ${argv[at]}`)
  }
  const { from, to } = given
  if (from !== null && to !== null) words.brokers = { from, to }
  else if (from !== null || to !== null) throw wrong('--from and --to go together')
  if (words.fleet && words.check) throw wrong('--fleet goes on until Ctrl-C: it has no --check')
  if (words.fleet && words.brokers)
    throw wrong('--fleet starts clusters and a ZooKeeper of its own: it takes no --from and --to')
  return words
}
