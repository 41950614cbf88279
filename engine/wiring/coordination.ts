import { plainSecrets } from '../adapters/local/plainSecrets.ts'
import { openZookeeper, type ZookeeperCoordinator } from '../adapters/zookeeper/openZookeeper.ts'
import { type Current, currentSecret } from '../credentials/current.ts'
import { MillraceError } from '../errors.ts'
import type { Tell } from '../flow/event.ts'
import type { Redactor } from '../flow/redactor.ts'
import type { Clock } from '../ports/clock.ts'
import type { OpenCoordinator } from '../ports/coordinator.ts'
import type { CoordinationSettings } from '../process/configCoordination.ts'
import { locatedSecret } from './clusters.ts'

/** The ZooKeeper that a configuration names. */
export type Coordination = { open: OpenCoordinator; sessionMs: number; startTimeoutMs: number; close(): void }

/**
 * Each call of `open` is another session, with the secret of the day; a secret that changes is used by the session that
 * is open too (C-84). Rejects with `coordination-required`, or with what the secret is refused for.
 */
export async function openCoordination(
  settings: CoordinationSettings | null,
  file: string,
  parts: { clock: Clock; redactor: Redactor; tell: Tell },
): Promise<Coordination> {
  if (settings === null) throw coordinationRequired(file)
  const { zookeeper: connect, sessionMs, auth } = settings
  const secret = auth && secretOf(locatedSecret(auth, file), parts)
  let login = secret && (await loginOf(secret))
  let session: ZookeeperCoordinator | null = null
  const close = secret?.onChange(() => {
    void loginOf(secret).then(
      next => {
        login = next
        session?.login(next)
      },
      // What is wrong with it was told; the one in hand stays.
      () => {},
    )
  })
  return {
    sessionMs,
    startTimeoutMs: settings.startTimeoutSeconds * 1_000,
    open() {
      session = openZookeeper({ connect, sessionMs, auth: login, clock: parts.clock, chance: Math.random })
      return session
    },
    close: () => close?.(),
  }
}

function secretOf(place: Parameters<typeof currentSecret>[0]['place'], parts: Parameters<typeof openCoordination>[2]) {
  const tell: Tell = event => parts.tell({ ...event, message: `coordination: ${event.message}` })
  return currentSecret({ ...parts, tell, kind: 'zk-digest', place, secrets: plainSecrets(process.env) })
}

async function loginOf(secret: Current) {
  const credential = await secret.get()
  if (credential.kind !== 'zk-digest') throw new Error('a login of ZooKeeper is a digest')
  return { user: credential.user, password: credential.password }
}

/** `more`: what else whoever started it may do. */
export function coordinationRequired(file: string, more = ''): MillraceError {
  return new MillraceError('coordination-required', `${file}: several processes need a ZooKeeper to agree by`, {
    hint: `name it in the file, as in: coordination: { zookeeper: "localhost:2181/millrace" }${more}`,
  })
}
