import kafkajs from 'kafkajs'
import { askTimeoutMs } from '../limits.ts'

/**
 * The request of R-12: every broker of `ports` is asked for the cluster and must name the brokers `ids` and a
 * controller. Null when all do, else what one of them said.
 */
export async function askCluster(ports: number[], ids: number[]): Promise<string | null> {
  const answers = await Promise.all(ports.map(port => askBroker(port, ids)))
  return answers.find(answer => answer !== null) ?? null
}

async function askBroker(port: number, ids: number[]): Promise<string | null> {
  const client = new kafkajs.Kafka({
    brokers: [`127.0.0.1:${port}`],
    logLevel: kafkajs.logLevel.NOTHING,
    connectionTimeout: askTimeoutMs,
    requestTimeout: askTimeoutMs,
    retry: { retries: 0 },
  })
  const admin = client.admin()
  try {
    await admin.connect()
    const { brokers, controller } = await admin.describeCluster()
    const named = brokers.map(({ nodeId }) => nodeId)
    if (controller === null || controller < 0) return `broker at ${port} names no controller`
    const missing = ids.filter(id => !named.includes(id))
    return missing.length === 0 ? null : `broker at ${port} does not name ${missing.join(', ')}`
  } finally {
    await admin.disconnect()
  }
}
