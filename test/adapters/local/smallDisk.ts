import { spawnSync } from 'node:child_process'

/**
 * A command that runs another one with a small disk of its own at `folder`: seen by it and its children only, and gone
 * with them, so that nobody has to take it away. Null where this user may not have one.
 */
export function withSmallDisk(folder: string, kibibytes: number): string[] | null {
  const mount = `mount -t tmpfs -o size=${kibibytes}k,mode=0750 millrace "$0" && exec "$@"`
  const around = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', mount, folder]
  const [command = '', ...rest] = around
  return spawnSync(command, [...rest, 'true']).status === 0 ? around : null
}

/** A command that runs another one so that no file may be larger. Everybody may have that. */
export function withSmallFiles(blocks: number): string[] {
  return ['sh', '-c', `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`, 'sh']
}
