import type { ACL, Client, Done, OpResult } from 'node-zookeeper-client'
import type { Op, Written } from '../../ports/coordinator.ts'
import { refusalOf } from './decide/faultOfCode.ts'

const anyVersion = -1
/** ZooKeeper's numbers of kinds of nodes. */
const modes = { persistent: 0, ephemeral: 1, sequential: 3 }
/** The type of a result that is an error. */
const errorType = -1

/** Hands all of `ops` over as one transaction. `root` stands before each path. */
export function commit(
  client: Client,
  ops: readonly Op[],
  { root, access }: { root: string; access: ACL[] },
  done: Done<[results: OpResult[]]>,
): void {
  const transaction = client.transaction()
  for (const op of ops) {
    const path = absolute(root, op.path)
    if (op.do === 'create') {
      transaction.create(path, Buffer.from(op.data), access, modes[op.mode])
      continue
    }
    if (op.do === 'set') transaction.setData(path, Buffer.from(op.data), anyVersion)
    else if (op.do === 'remove') transaction.remove(path, anyVersion)
    else transaction.check(path, anyVersion)
    // Given to the library's own call, version 0 becomes -1, any (C-82).
    const made = transaction.ops.at(-1)
    if (made) made.version = op.version ?? anyVersion
  }
  transaction.commit((error, results) => done(error, results ?? []))
}

/** The first operation that failed, as far as the server says; the others have numbers of no meaning. */
export function failedAt(results: readonly OpResult[]): { index: number; code: number } | null {
  const index = results.findIndex(one => one.type === errorType && one.err !== 0)
  return index < 0 ? null : { index, code: results[index]?.err ?? 0 }
}

/** Null: it is a fault, not a refusal. */
export function writtenOf(ops: readonly Op[], results: readonly OpResult[], root: string): Written | null {
  const failed = failedAt(results)
  if (failed) {
    const why = refusalOf(failed.code)
    return why && { done: false, refused: { index: failed.index, why } }
  }
  return {
    done: true,
    paths: ops.map((op, index) => results[index]?.path?.slice(root.length) ?? op.path),
    versions: ops.map((op, index) => results[index]?.stat?.version ?? (op.do === 'create' ? 0 : (op.version ?? -1))),
  }
}

export function absolute(root: string, path: string): string {
  return path === '/' ? root || '/' : root + path
}
