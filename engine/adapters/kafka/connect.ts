import { MillraceError } from '../../errors.ts'
import { controlTimeoutMs } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Connect } from './cluster.ts'
import { type Caps, chooseVersions, type Missing } from './decide/chooseVersions.ts'
import { incrementalAlterConfigsApi } from './frames/alterConfigs.ts'
import { apiVersionsApi } from './frames/apiVersions.ts'
import { fetchApi } from './frames/fetch.ts'
import { findCoordinatorApi } from './frames/findCoordinator.ts'
import { initProducerIdApi } from './frames/initProducerId.ts'
import { listOffsetsApi } from './frames/listOffsets.ts'
import { metadataApi } from './frames/metadata.ts'
import { offsetCommitApi } from './frames/offsetCommit.ts'
import { offsetFetchApi } from './frames/offsetFetch.ts'
import { produceApi } from './frames/produce.ts'
import { Link } from './link.ts'
import { keyNameOf, login, type Security } from './login.ts'
import { mixedUp } from './loginFault.ts'
import type { MemoryAccount } from './slab.ts'

/** What every broker must speak. */
const required = [
  produceApi,
  fetchApi,
  listOffsetsApi,
  metadataApi,
  offsetCommitApi,
  offsetFetchApi,
  findCoordinatorApi,
  initProducerIdApi,
  incrementalAlterConfigsApi,
]

const software = { software: 'millrace', version: '0.1.0' }

/** Opens links: login, then ApiVersions, proof that the session is alive (KAFKA-CLIENT W-22). */
export function connector(how: {
  cluster: string
  clientId: string
  security: Security
  account: MemoryAccount
  clock: Clock
  caps: Caps
  /** Told each time when a broker, `host:port`, has us wait (W-25). */
  throttled?: (broker: string, ms: number) => void
}): Connect {
  return async (address, purpose) => {
    const name = `${how.cluster}: broker ${address.host}:${address.port}`
    const age = agingOf(how.security)
    const { socket, sessionEndsAtMs, unsentBytes, handOver } = await login({ ...how, address }).catch(error => {
      age.end()
      throw error
    })
    const link = new Link(socket, {
      name,
      clientId: how.clientId,
      clock: how.clock,
      account: purpose === 'fetch' ? how.account : null,
      sessionEndsAtMs,
      unsentBytes,
      onThrottle: ms => how.throttled?.(`${address.host}:${address.port}`, ms),
    })
    age.of(link)
    handOver(link)
    const { answer, frame } = await link
      .ask(apiVersionsApi, software, { timeoutMs: controlTimeoutMs })
      .catch((cause: unknown) => Promise.reject(unheard(cause, how.security)))
    frame.release()
    const { versions, missing } = chooseVersions(required, answer.apis, how.caps)
    const first = answer.error === 0 ? missing[0] : undefined
    if (answer.error !== 0 || first) {
      const fault = first ? tooOld(name, first) : refused(name, answer.error)
      link.end(fault)
      throw fault
    }
    link.agree(versions)
    return link
  }
}

/** Listens from before the login: a credential that changes in the middle of it makes the link one to be swapped (K-55). */
function agingOf(security: Security): { of(link: Link): void; end(): void } {
  let link: Link | null = null
  let changed = false
  const end =
    security.onChange?.(() => {
      changed = true
      link?.outdated()
    }) ?? (() => {})
  return {
    of(opened) {
      link = opened
      opened.onClose(end)
      if (changed) opened.outdated()
    },
    end,
  }
}

/** The broker closed instead of an answer: it has heard enough to know that this is not what the port is for (§5). */
function unheard(cause: unknown, security: Security): unknown {
  if (!(cause instanceof MillraceError) || cause.code !== 'kafka-link-lost') return cause
  const name = keyNameOf(security)
  const hint = security.sasl ? mixedUp(name) : `does the port want SASL? set ${name('mechanism')}`
  return new MillraceError(cause.code, cause.message, { retryable: true, cause, hint })
}

function tooOld(name: string, api: Missing): MillraceError {
  const theirs = api.broker ? `${api.broker.min}–${api.broker.max}` : 'none'
  return new MillraceError(
    'kafka-version-unsupported',
    `${name}: ${api.name}: we speak ${api.min}–${api.max}, the broker ${theirs}`,
    { hint: 'Kafka 3.0 or newer is needed' },
  )
}

function refused(name: string, error: number): MillraceError {
  return new MillraceError('kafka-version-unsupported', `${name}: ApiVersions failed with Kafka's error ${error}`, {
    kafka: error,
    hint: 'Kafka 3.0 or newer is needed',
  })
}
