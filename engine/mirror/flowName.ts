import { createHash } from 'node:crypto'

/** The same two clusters always give the same name, so that a second run goes on from the checkpoints (M-100). */
export function flowName(sourceClusterId: string, destinationClusterId: string): string {
  const hash = createHash('sha256').update(`${sourceClusterId}\n${destinationClusterId}`).digest('hex')
  return `mirror-${hash.slice(0, 8)}`
}
