import type { MirrorSpec } from '../spec.ts'
import { isEvery, literal, prefixed, type Resource, renamedResources, topicResources } from './topicResources.ts'

/** Kafka's operations, in the words of its own tool. */
export type Operation = 'Alter' | 'AlterConfigs' | 'Create' | 'DescribeConfigs' | 'Read' | 'Write'
export type Acl = Resource & { on: 'topic' | 'group'; operations: Operation[] }
export type AclsNeeded = { source: Acl[]; destination: Acl[] }
type Asked = Pick<MirrorSpec, 'topics' | 'naming' | 'loopGuard' | 'destination'>

/**
 * The fewest ACLs with which a flow does all that its spec says (M-27). Read, Write and Alter carry Describe,
 * AlterConfigs carries DescribeConfigs, and Write on any topic carries what an idempotent producer needs (KIP-679),
 * so none of these is there. Nothing is needed on the cluster.
 */
export function aclsNeeded({ topics, naming, loopGuard, destination }: Asked, flow: string): AclsNeeded {
  const { create, config } = destination
  const isGuarded = loopGuard === 'topic'
  const read: Operation[] = create || config.sync ? ['Read', 'DescribeConfigs'] : ['Read']
  const write: Operation[] = ['Write']
  if (create) write.push('Create', 'Alter')
  if (config.sync) write.push('AlterConfigs')
  else if (create) write.push('DescribeConfigs')
  const source = onTopics(topicResources(topics), read)
  const targets = onTopics(renamedResources(topics, naming), write)
  const guards = isGuarded ? beyond(source, [onTopic(prefixed('millrace.mirror.'), ['Read'])]) : []
  const ours = onTopic(literal(`millrace.mirror.${flow}`), ['Create', 'Read', 'Write'])
  const group: Acl = { on: 'group', ...literal(`millrace.${flow}`), operations: ['Read'] }
  return {
    source: [...source, ...guards, group],
    destination: [...targets, ...(isGuarded ? beyond(targets, [ours]) : [])],
  }
}

/** What `acls` do not hold already: those that are for every topic hold the provenance too. */
function beyond(acls: readonly Acl[], more: readonly Acl[]): Acl[] {
  const given = new Set(acls.filter(isEvery).flatMap(({ operations }) => operations))
  const open = more.map(one => ({ ...one, operations: one.operations.filter(operation => !given.has(operation)) }))
  return open.filter(({ operations }) => operations.length > 0)
}

function onTopics(resources: readonly Resource[], operations: Operation[]): Acl[] {
  return resources.map(resource => onTopic(resource, [...operations]))
}

function onTopic(resource: Resource, operations: Operation[]): Acl {
  return { on: 'topic', ...resource, operations }
}
