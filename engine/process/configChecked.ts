import type { z } from 'zod'
import { type ConfigFault, type ConfigPath, pathText, withoutLogin } from './configFault.ts'
import { faultsOf } from './configIssues.ts'
import type { ConfigText } from './configYaml.ts'

/** Where faults are told, and where they stand. */
export type Around = { text: Pick<ConfigText, 'placeOf'>; faults: ConfigFault[] }

/** What a schema makes of a value; null when it has faults, which are said. */
export function checked<T>(
  schema: z.ZodType<T>,
  value: unknown,
  { at, text, faults, otherKeys }: Around & { at: ConfigPath; otherKeys?: readonly string[] },
): T | null {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const others = otherKeys === undefined ? {} : { otherKeys }
  // One by one: a call takes no hundred thousand arguments.
  for (const fault of faultsOf(result.error.issues, { schema, value, at, text, ...others })) faults.push(fault)
  return null
}

export function faultAt(
  text: Around['text'],
  path: ConfigPath,
  of: 'key' | 'value',
  found: string,
  expected: string,
): ConfigFault {
  return { path: pathText(path), ...text.placeOf(path, of), found: withoutLogin(found), expected, hint: null }
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** As an own key, whatever its name. */
export function define(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true })
}
