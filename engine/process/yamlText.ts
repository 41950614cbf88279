import { stringify } from 'yaml'

/** Data as YAML for people: a value is never cut in two lines. */
export function yamlText(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })
}
