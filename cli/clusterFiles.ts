import { MillraceError } from '../engine/errors.ts'
import { readConfigText } from '../engine/process/configFile.ts'
import { located } from '../engine/wiring/clusters.ts'
import type { AskedFlags } from './asked.ts'
import type { ClusterFile } from './clusters.ts'
import { faultLine } from './configLines.ts'

/** What `--source-config` and `--destination-config` name; null = the flag is not there. */
export type ClusterFiles = { from: ClusterFile | null; to: ClusterFile | null }

/** Rejects with `config-invalid` that has every fault of the file with its place (MIRROR §3.5). */
export async function clusterFiles({ sourceConfig, destinationConfig }: AskedFlags): Promise<ClusterFiles> {
  return {
    from: sourceConfig === undefined ? null : await clusterFile('--source-config', sourceConfig),
    to: destinationConfig === undefined ? null : await clusterFile('--destination-config', destinationConfig),
  }
}

async function clusterFile(flag: string, path: string): Promise<ClusterFile> {
  const source = await readConfigText(path)
  // Loaded when a file is read: a mirror started by flags needs neither YAML nor schemas.
  const [{ readCluster }, { checkCluster }] = await Promise.all([
    import('../engine/process/config.ts'),
    import('./checkSecrets.ts'),
  ])
  const read = readCluster(source)
  const settings = read.ok ? located(read.settings, path) : null
  const faults = read.ok && settings ? await checkCluster(settings, read.text) : read.ok ? [] : read.faults
  if (settings && faults.length === 0) return { flag, path, settings }
  const lines = faults.map(fault => faultLine(path, fault)).join('')
  throw new MillraceError('config-invalid', `${flag}:\n${lines.trimEnd()}`)
}
