import { fileURLToPath } from 'node:url'
import { MillraceError } from '../engine/errors.ts'
import { stopTimeoutMs, stopTimeoutSecondsMax, stopTimeoutSecondsMin } from '../engine/limits.ts'

/** The environment of a task (CLOUD D-15): these names and no other. */
export const taskEnv = {
  /** Where the configuration is: a path, or `file:///PATH`. */
  config: 'MILLRACE_CONFIG',
  /** Set in the cloud: then it listens where others reach it. */
  stage: 'MILLRACE_STAGE',
  logLevel: 'LOG_LEVEL',
  stopTimeout: 'STOP_TIMEOUT_SECONDS',
} as const

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
type Level = (typeof levels)[number]

export type TaskSettings = { file: string; stage: string | null; level: Level; stopTimeoutMs: number }

/** Throws `config-invalid` that names the variable. */
export function readTaskEnv(env: Readonly<Record<string, string | undefined>> = process.env): TaskSettings {
  return {
    file: fileOf(env[taskEnv.config] ?? ''),
    stage: env[taskEnv.stage] || null,
    level: levelOf(env[taskEnv.logLevel] || 'info'),
    stopTimeoutMs: stopTimeoutOf(env[taskEnv.stopTimeout] ?? ''),
  }
}

function fileOf(text: string): string {
  if (text === '') throw refused(taskEnv.config, 'the path of a configuration, or file:///PATH', 'nothing')
  if (!/^[a-z0-9+]+:\/\//i.test(text)) return text
  try {
    return fileURLToPath(text)
  } catch {
    throw refused(taskEnv.config, 'the path of a configuration, or file:///PATH', `'${text}'`)
  }
}

function levelOf(text: string): Level {
  const found = levels.find(level => level === text)
  if (found === undefined) throw refused(taskEnv.logLevel, levels.join(', '), `'${text}'`)
  return found
}

function stopTimeoutOf(text: string): number {
  if (text === '') return stopTimeoutMs
  const seconds = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (seconds >= stopTimeoutSecondsMin && seconds <= stopTimeoutSecondsMax) return seconds * 1_000
  const expected = `whole seconds from ${stopTimeoutSecondsMin} to ${stopTimeoutSecondsMax}`
  throw refused(taskEnv.stopTimeout, expected, `'${text}'`)
}

function refused(name: string, expected: string, found: string): MillraceError {
  return new MillraceError('config-invalid', `${name}: expected ${expected}, found ${found}`)
}
