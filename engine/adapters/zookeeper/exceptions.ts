import { Exception } from 'node-zookeeper-client'

/**
 * The library throws for each error number that it does not know, inside its socket's handler, and the process dies
 * of it (C-79). It looks the function up at each call, so one in its place serves all its clients.
 */
export function mendExceptions(): void {
  Exception.create = (code, path) => {
    try {
      return known(code, path)
    } catch {
      return Object.assign(new Error(`ZooKeeper's error ${code}`), { code, getCode: () => code })
    }
  }
}

const known = Exception.create
