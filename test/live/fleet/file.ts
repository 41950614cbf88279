import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** What a fleet's file says, beside its flows; addresses are `host:port,…`, a ZooKeeper with its chroot. */
export type FleetWords = {
  east: string
  west: string
  /** By what the brokers call themselves, `host:port`, where they are reached (KAFKA-CLIENT W-20). */
  addresses?: Record<string, string>
  zookeeper: string
  /** Clusters beside the two, by name their brokers. */
  others?: Record<string, string>
  sessionMs?: number
  startTimeoutSeconds?: number
  auth?: Record<string, string>
  worker?: Record<string, unknown>
  api?: Record<string, unknown>
  store?: string
}

export type FleetFile = { path: string; write(flows: Record<string, unknown>): void }

/**
 * A configuration for controllers and workers; it goes with the test. Each process may have one of its own, when it
 * reaches the others over another line.
 */
export function fleetFile(t: Pick<TestContext, 'after'>, words: FleetWords, flows: Record<string, unknown>): FleetFile {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-fleet-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'millrace.yaml')
  const { zookeeper, sessionMs, startTimeoutSeconds, auth, worker, store, addresses } = words
  const cluster = (brokers: string) => ({ brokers: brokers.split(','), ...(addresses ? { addresses } : {}) })
  const rest = {
    clusters: {
      ...{ east: cluster(words.east), west: cluster(words.west) },
      ...Object.fromEntries(Object.entries(words.others ?? {}).map(([name, brokers]) => [name, cluster(brokers)])),
    },
    coordination: {
      zookeeper,
      ...(sessionMs === undefined ? {} : { sessionMs }),
      ...(startTimeoutSeconds === undefined ? {} : { startTimeoutSeconds }),
      ...(auth ? { auth } : {}),
    },
    api: { listen: '127.0.0.1:0', ...words.api },
    ...(worker ? { worker } : {}),
    ...(store ? { store } : {}),
  }
  const write = (of: Record<string, unknown>) => {
    // JSON is YAML too. As an editor does it: nobody sees half a file.
    writeFileSync(`${path}.new`, JSON.stringify({ ...rest, flows: of }, null, 2))
    renameSync(`${path}.new`, path)
  }
  write(flows)
  return { path, write }
}
