import type { Command } from 'commander'
import { formats } from './said.ts'
import type { Shell } from './shells.ts'
import { shells } from './shells.ts'

/** What may stand where: of flags and arguments with a closed list, and of those that a fleet knows the names of. */
type Values = { words: readonly string[] } | { names: 'flows' | 'workers' } | { files: true } | null

export type Completable = {
  /** `topics add`; '' is the program. */
  path: string
  about: string
  below: readonly { name: string; about: string }[]
  flags: readonly { long: string; short: string | null; about: string; isSwitch: boolean; values: Values }[]
  /** Of its first argument. */
  argument: Values
}

/** Each command with what may follow it, the program first. */
export function completables(program: Command): Completable[] {
  const found: Completable[] = []
  const visit = (command: Command, path: string) => {
    const below = command.commands.map(one => ({ name: one.name(), about: one.description() }))
    const flags = command.options.map(option => ({
      long: option.long ?? '',
      short: option.short ?? null,
      about: option.description,
      isSwitch: !option.required && !option.optional,
      values: valuesOf(option.long ?? '', path),
    }))
    const help = { long: '--help', short: '-h', about: 'show help', isSwitch: true, values: null }
    const argument = argumentOf(command)
    found.push({ path, about: command.description(), below, flags: [...flags, help], argument })
    for (const one of command.commands) visit(one, `${path} ${one.name()}`.trim())
  }
  visit(program, '')
  return found
}

function argumentOf(command: Command): Values {
  const [first] = command.registeredArguments
  if (first === undefined) return null
  const name = first.name()
  if (command.name() === 'completion') return { words: shells }
  if (name === 'on|off') return { words: ['on', 'off'] }
  if (name === 'worker') return { names: 'workers' }
  // A topic and a partition stand behind the name of a flow. What a file declares, a fleet need not know.
  const isOfFile = ['acls', 'explain'].includes(command.name())
  return !isOfFile && /^flow\b/.test(name) ? { names: 'flows' } : null
}

function valuesOf(long: string, path: string): Values {
  if (/^--(file|config|source-config|destination-config|token-file)$/.test(long)) return { files: true }
  if (long === '--to' && path === 'move') return { names: 'workers' }
  if (long === '--to' && path === 'offsets reset') return { words: ['earliest', 'latest'] }
  if (long === '--compression') return { words: ['keep', 'none', 'gzip', 'snappy', 'lz4', 'zstd'] }
  if (long !== '--output') return null
  if (path === 'mirror verify') return { words: ['json', 'table'] }
  return { words: /^(mirror|run|config)\b/.test(path) ? ['json'] : formats }
}

export function completionOf(shell: Shell, program: Command): string {
  const all = completables(program)
  return { bash, zsh, fish }[shell](all)
}

const namesOf = (kind: 'flows' | 'workers') => `$(millrace ${kind} -o name 2>/dev/null)`

function wordsOf(values: Values): string {
  if (values === null || 'files' in values) return ''
  return 'words' in values ? values.words.join(' ') : namesOf(values.names)
}

/** Which command is being typed: its words, as long as they are names of commands. */
function pathCase(all: readonly Completable[]): string {
  return all
    .filter(({ path }) => path !== '')
    .map(({ path }) => `'${path}'`)
    .join('|')
}

function bash(all: readonly Completable[]): string {
  const cases = all.map(one => {
    const flags = one.flags.flatMap(({ long, short }) => (short === null ? [long] : [long, short])).join(' ')
    const below = one.below.map(({ name }) => name).join(' ')
    const names = wordsOf(one.argument)
    const taken = one.flags.filter(({ isSwitch }) => !isSwitch)
    const after = taken.map(({ long, short, values }) => {
      const files = values !== null && 'files' in values
      const does = files ? 'compgen -f -- "$cur"' : `compgen -W "${wordsOf(values)}" -- "$cur"`
      return `      ${short === null ? long : `${long}|${short}`}) COMPREPLY=($(${does})); return ;;\n`
    })
    const flagged =
      after.length === 0 ? '' : `      case $prev in\n${after.join('').replaceAll(/^ {2}/gm, '    ')}      esac\n`
    const words = names === '' ? below : `${below} ${names}`.trim()
    return `    '${one.path}')\n${flagged}      case $cur in\n        -*) words="${flags}" ;;\n        *) words="${words}" ;;\n      esac ;;\n`
  })
  return `# millrace, for bash: source <(millrace completion bash)
_millrace() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path='' words='' next i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="$path \${COMP_WORDS[i]}"
    case "\${next# }" in
      ${pathCase(all)}) path=\${next# } ;;
    esac
  done
  case "$path" in
${cases.join('')}  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _millrace millrace
`
}

function zsh(all: readonly Completable[]): string {
  const cases = all.map(one => {
    const specs = one.flags.flatMap(({ long, short, about, isSwitch, values }) =>
      [long, ...(short === null ? [] : [short])].map(
        flag => `${quoted(`${flag}[${bracketed(about)}]${isSwitch ? '' : `:value:${zshAction(values)}`}`)}`,
      ),
    )
    const below = one.below.map(({ name, about }) => quoted(`${name}:${about}`)).join(' ')
    const argument = zshAction(one.argument)
    const lines = [
      ...(below === '' ? [] : [`      below=(${below})`, '      (( here )) && _describe command below']),
      `      _arguments -S ${specs.join(' ')}${argument === ' ' ? '' : ` ${quoted(`*:name:${argument}`)}`}`,
    ]
    return `    '${one.path}')\n${lines.join('\n')} ;;\n`
  })
  return `#compdef millrace
# millrace, for zsh: source <(millrace completion zsh), behind compinit
_millrace() {
  local path_='' next i here=0
  local -a below
  for ((i = 2; i < CURRENT; i++)); do
    next="$path_ \${words[i]}"
    case "\${next# }" in
      ${pathCase(all)}) path_=\${next# }; here=$i ;;
    esac
  done
  # Commands follow a command at once.
  (( here = CURRENT == (here == 0 ? 2 : here + 1) ))
  case "$path_" in
${cases.join('')}  esac
}
compdef _millrace millrace
`
}

function zshAction(values: Values): string {
  if (values === null) return ' '
  if ('files' in values) return '_files'
  return 'words' in values ? `(${values.words.join(' ')})` : `(${namesOf(values.names)})`
}

function bracketed(text: string): string {
  return text.replaceAll(/[[\]:\\]/g, '\\$&')
}

function fish(all: readonly Completable[]): string {
  const lines = all.flatMap(one => {
    const when = `-n ${quoted(`test (__millrace_path) = "${one.path}"`)}`
    const below = one.below.map(({ name, about }) => `complete -c millrace ${when} -a ${name} -d ${quoted(about)}`)
    const flags = one.flags.map(({ long, short, about, isSwitch, values }) => {
      const letter = short === null ? '' : ` -s ${short.slice(1)}`
      return `complete -c millrace ${when} -l ${long.slice(2)}${letter}${fishTaken(isSwitch, values)} -d ${quoted(about)}`
    })
    const argument = one.argument === null ? [] : [`complete -c millrace ${when} -a ${quoted(fishWords(one.argument))}`]
    return [...below, ...flags, ...argument]
  })
  return `# millrace, for fish: millrace completion fish > ~/.config/fish/completions/millrace.fish
function __millrace_path
  set -l path ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$path $word")
    switch $next
      case ${pathCase(all).replaceAll('|', ' ')}
        set path $next
    end
  end
  echo "$path"
end
complete -c millrace -f
${lines.join('\n')}
`
}

function fishTaken(isSwitch: boolean, values: Values): string {
  if (isSwitch) return ''
  if (values === null) return ' -x'
  return 'files' in values ? ' -r -F' : ` -x -a ${quoted(fishWords(values))}`
}

function fishWords(values: Values): string {
  return wordsOf(values).replace(/^\$\(/, '(')
}

/** One word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
