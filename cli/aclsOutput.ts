import type { Acl } from '../engine/mirror/decide/aclsNeeded.ts'
import { isEvery } from '../engine/mirror/decide/topicResources.ts'

export type AclList = { side: 'source' | 'destination'; cluster: string; bootstrap: string; acls: readonly Acl[] }

/** One JSON document; `flow` null = not known. */
export function aclsJson(flow: string | null, principal: string, lists: readonly AclList[]): string {
  const sides = lists.map(({ side, cluster, bootstrap, acls }) => {
    const shown = acls.map(({ on, name, pattern, operations }) => ({ resource: on, name, pattern, operations }))
    return [side, { cluster, bootstrap, acls: shown }]
  })
  return `${JSON.stringify({ flow, principal, ...Object.fromEntries(sides) })}\n`
}

/** Commands for Kafka's own tool, to be run by a shell. `unknownFlow`: what stands for the name of the flow, or null. */
export function aclsText(unknownFlow: string | null, principal: string, lists: readonly AclList[]): string {
  const lines: string[] = []
  if (unknownFlow !== null) {
    lines.push(`# The clusters do not both answer, so put the name of the flow for ${unknownFlow}, or say --name.`)
  }
  for (const { side, cluster, bootstrap, acls } of lists) {
    lines.push(cluster === side ? `# ${side}` : `# ${side} ${cluster}`)
    for (const acl of acls) {
      if (isEvery(acl)) lines.push('# A pattern begins with no fixed text, so it takes every topic:')
      lines.push(commandOf(acl, bootstrap, principal))
    }
  }
  return `${lines.join('\n')}\n`
}

function commandOf({ on, name, pattern, operations }: Acl, bootstrap: string, principal: string): string {
  const to = ['--bootstrap-server', bootstrap, '--add', '--allow-principal', principal]
  const what = operations.flatMap(operation => ['--operation', operation])
  const where = [`--${on}`, name, ...(pattern === 'prefixed' ? ['--resource-pattern-type', 'prefixed'] : [])]
  return ['kafka-acls.sh', ...to, ...what, ...where].map(quoted).join(' ')
}

/** One word of a shell. */
function quoted(word: string): string {
  return /^[\w.,:@%+=/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
