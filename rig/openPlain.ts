import { plainSecurity } from '../engine/adapters/kafka/login.ts'
import { type KafkaCounts, openKafka } from '../engine/adapters/kafka/openKafka.ts'
import { MemoryAccount } from '../engine/adapters/kafka/slab.ts'
import { machineClock } from '../engine/adapters/local/clock.ts'
import type { KafkaCluster } from '../engine/ports/kafka.ts'
import { seeded } from './seeded.ts'

/** A cluster without security by its `host:port,…`, with the adapter that the product uses. */
export function openPlain(name: string, bootstrap: string): KafkaCluster & { counts(): KafkaCounts } {
  const brokers = bootstrap.split(',').map(address => {
    const at = address.lastIndexOf(':')
    return { host: address.slice(0, at), port: Number(address.slice(at + 1)) }
  })
  return openKafka(
    { name, brokers, clientId: 'millrace-samples', addresses: new Map(), security: plainSecurity },
    { account: new MemoryAccount(), clock: machineClock(), chance: seeded(name) },
  )
}
