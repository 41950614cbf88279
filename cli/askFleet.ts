import { readFile, stat } from 'node:fs/promises'
import { MillraceError } from '../engine/errors.ts'
import { pause } from '../engine/flow/pause.ts'
import { unlessAborted } from '../engine/flow/unlessAborted.ts'
import { tokenFileBytesMax, watchEveryMs } from '../engine/limits.ts'
import { type ApiClient, openApiClient } from './apiClient.ts'
import { cliEnv } from './config.ts'
import { exitCodeOf } from './exitCode.ts'
import type { Io } from './io.ts'
import type { Given, Noun, NounFlags } from './noun.ts'
import { errorLines } from './output.ts'
import { type Format, formatOf, sayAs } from './said.ts'

/** What a command has of its process, and how it ends it. */
export type Cli = { io: Io; exit(code: number): Promise<void> }
type Asked = { args: readonly string[]; flags: NounFlags; load: () => Promise<Noun> }

/** The life of a command that asks a fleet: its exit code is one of DESIGN §9. */
export async function runNoun({ io, exit }: Cli, asked: Asked): Promise<void> {
  await exit(await run(io, asked).catch(error => refuse(io, error)))
}

async function run(io: Io, { args, flags, load }: Asked): Promise<number> {
  const format = formatOf(flags.output)
  const api = await apiOf(io, flags)
  const noun = await load()
  const given = { api, args, flags, io }
  if (flags.watch) return await watch(noun, given, format)
  const said = await noun(given)
  io.stdout.write(await sayAs(format, said))
  if (said.note !== undefined) io.stderr.write(said.note)
  return said.code ?? 0
}

function refuse(io: Io, error: unknown): number {
  io.stderr.write(`${errorLines(error)}\n`)
  return exitCodeOf(error)
}

/** Home, then what was below is erased. */
const redraw = '\u001b[H\u001b[J'
const contactLost = 12

/**
 * At a terminal drawn over what was there, elsewhere appended when it has changed. Contact that is lost comes back; any
 * other refusal ends it, and so does Ctrl-C, with 0.
 */
async function watch(noun: Noun, given: Given, format: Format): Promise<number> {
  const { io } = given
  const stop = io.interrupted()
  // The machine's timers keep nobody alive.
  const alive = setInterval(() => {}, 1 << 30)
  let last: string | null = null
  try {
    while (!stop.aborted) {
      const shown = await unlessAborted(shownNow(noun, given, format), stop)
      if (shown === null) break
      const { out, err } = shown
      if (io.stdout.isTTY) io.stdout.write(`${redraw}${fitting(`${out}${err}`, io.stdout.rows)}`)
      else if (`${out}${err}` !== last) {
        if (format === 'table' || format === 'wide') io.stdout.write(last === null || out === '' ? out : `\n${out}`)
        else io.stdout.write(format === 'yaml' && last !== null ? `---\n${out}` : out)
        if (err !== '') io.stderr.write(err)
      }
      last = `${out}${err}`
      await pause(io.clock, watchEveryMs, stop)
    }
    return 0
  } finally {
    clearInterval(alive)
  }
}

async function shownNow(noun: Noun, given: Given, format: Format): Promise<{ out: string; err: string }> {
  try {
    const said = await noun(given)
    return { out: await sayAs(format, said), err: said.note ?? '' }
  } catch (error) {
    if (exitCodeOf(error) !== contactLost) throw error
    return { out: '', err: `${errorLines(error)}\n  it is asked again until Ctrl-C\n` }
  }
}

/** More lines than the terminal has would scroll, and the next drawing begin in the wrong place. */
function fitting(text: string, rows: number | undefined): string {
  const lines = text.split('\n')
  if (rows === undefined || lines.length <= rows) return text
  return [...lines.slice(0, rows - 1), `… ${lines.length - rows} more lines`].join('\n')
}

const defaultApi = 'http://127.0.0.1:8080'

/** Rejects with `config-invalid` that names the flag or the variable, never what is in it where that may be a secret. */
async function apiOf(io: Io, flags: NounFlags): Promise<ApiClient> {
  const [name, text] =
    flags.api === undefined ? [cliEnv.api, io.env[cliEnv.api] || defaultApi] : (['--api', flags.api] as const)
  return openApiClient({ base: baseOf(name, text), token: await tokenOf(io, flags), clock: io.clock })
}

function baseOf(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  const isBare = /^[^/:]+(:\d+)?$/.test(text) && URL.canParse(`http://${text}`)
  const hint = isBare ? `did you mean http://${text}?` : `as in: ${defaultApi}`
  if (url !== null && (url.username !== '' || url.password !== '')) {
    throw invalid(`${name}: a URL with a name or a password in it`, `a token stands in ${cliEnv.token} or a file`)
  }
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw invalid(`${name}: expected http://HOST:PORT, found '${text}'`, hint)
  }
  if (url.search !== '' || url.hash !== '')
    throw invalid(`${name}: expected nothing behind the path in '${text}'`, hint)
  return url
}

async function tokenOf(io: Io, { tokenFile }: NounFlags): Promise<string | null> {
  const [name, text] =
    tokenFile === undefined
      ? [cliEnv.token, io.env[cliEnv.token] ?? '']
      : ([`--token-file ${tokenFile}`, await tokenText(tokenFile)] as const)
  const token = text.trim()
  if (token === '' && tokenFile === undefined) return null
  if (/^[A-Za-z0-9._~+/-]+=*$/.test(token)) return token
  throw invalid(`${name}: ${token === '' ? 'it is empty' : 'what is in it is no token'}`, 'one line: the token alone')
}

async function tokenText(path: string): Promise<string> {
  try {
    if ((await stat(path)).size <= tokenFileBytesMax) return await readFile(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw invalid(`--token-file: ${path} ${code === 'ENOENT' ? 'is not there' : `cannot be read: ${code}`}`, null)
  }
  throw invalid(`--token-file: ${path} is larger than ${tokenFileBytesMax} bytes`, 'one line: the token alone')
}

function invalid(text: string, hint: string | null): MillraceError {
  return new MillraceError('config-invalid', text, { hint })
}
