import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTaskEnv, taskEnv } from '../../tasks/config.ts'

const refused = (env: Record<string, string>) => {
  let message = ''
  assert.throws(
    () => readTaskEnv(env),
    (error: Error & { code?: string }) => {
      message = error.message
      return error.code === 'config-invalid'
    },
  )
  return message
}

test('a task reads four variables and no other', () => {
  const whole = {
    [taskEnv.config]: 'a.yaml',
    [taskEnv.stage]: 'dev',
    [taskEnv.logLevel]: 'debug',
    [taskEnv.stopTimeout]: '120',
  }
  assert.deepEqual(readTaskEnv(whole), { file: 'a.yaml', stage: 'dev', level: 'debug', stopTimeoutMs: 120_000 })
  const least = { [taskEnv.config]: 'file:///etc/millrace%20a.yaml', OTHER: 'x' }
  assert.deepEqual(readTaskEnv(least), {
    file: '/etc/millrace a.yaml',
    stage: null,
    level: 'info',
    stopTimeoutMs: 30_000,
  })
})

test('what is wrong with a variable is said with its name and what would be right', () => {
  assert.match(
    refused({}),
    /^MILLRACE_CONFIG: expected the path of a configuration, or file:\/\/\/PATH, found nothing$/,
  )
  assert.match(
    refused({ MILLRACE_CONFIG: 's3://bucket/a.yaml' }),
    /^MILLRACE_CONFIG: .* found 's3:\/\/bucket\/a.yaml'$/,
  )
  const config = { MILLRACE_CONFIG: 'a' }
  assert.match(refused({ ...config, LOG_LEVEL: 'loud' }), /^LOG_LEVEL: expected trace, debug, .*, found 'loud'$/)
  for (const text of ['0', '9', '121', '1e2', '30s', '-1']) {
    assert.match(
      refused({ ...config, STOP_TIMEOUT_SECONDS: text }),
      /^STOP_TIMEOUT_SECONDS: expected whole seconds from 10 to 120/,
    )
  }
})
