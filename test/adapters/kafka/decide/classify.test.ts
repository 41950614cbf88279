import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Asked, classify, troubleCode, type Verdict } from '../../../../engine/adapters/kafka/decide/classify.ts'
import { kafkaErrors, retriable } from './kafkaErrors.ts'

/** The table of KAFKA-CLIENT §5 by name; what is not here is `unknown`. */
const table: Record<string, Verdict> = {
  NONE: 'ok',
  OFFSET_OUT_OF_RANGE: 'out-of-range',
  UNKNOWN_TOPIC_OR_PARTITION: 'missing',
  UNKNOWN_TOPIC_ID: 'missing',
  INCONSISTENT_TOPIC_ID: 'missing',
  LEADER_NOT_AVAILABLE: 'leader',
  NOT_LEADER_OR_FOLLOWER: 'leader',
  REPLICA_NOT_AVAILABLE: 'leader',
  KAFKA_STORAGE_ERROR: 'leader',
  LISTENER_NOT_FOUND: 'leader',
  FENCED_LEADER_EPOCH: 'leader',
  PREFERRED_LEADER_NOT_AVAILABLE: 'leader',
  ELIGIBLE_LEADERS_NOT_AVAILABLE: 'leader',
  ELECTION_NOT_NEEDED: 'leader',
  REQUEST_TIMED_OUT: 'again',
  NETWORK_EXCEPTION: 'again',
  NOT_ENOUGH_REPLICAS: 'again',
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: 'again',
  NOT_CONTROLLER: 'again',
  CONCURRENT_TRANSACTIONS: 'again',
  UNKNOWN_LEADER_EPOCH: 'again',
  OFFSET_NOT_AVAILABLE: 'again',
  UNSTABLE_OFFSET_COMMIT: 'again',
  THROTTLING_QUOTA_EXCEEDED: 'again',
  OFFSET_MOVED_TO_TIERED_STORAGE: 'again',
  SHARE_SESSION_NOT_FOUND: 'again',
  INVALID_SHARE_SESSION_EPOCH: 'again',
  SHARE_SESSION_LIMIT_REACHED: 'again',
  MESSAGE_TOO_LARGE: 'refused',
  RECORD_LIST_TOO_LARGE: 'refused',
  INVALID_TIMESTAMP: 'refused',
  UNSUPPORTED_COMPRESSION_TYPE: 'refused',
  INVALID_RECORD: 'refused',
  OFFSET_METADATA_TOO_LARGE: 'metadata-too-large',
  INVALID_COMMIT_OFFSET_SIZE: 'halve',
  COORDINATOR_LOAD_IN_PROGRESS: 'coordinator',
  COORDINATOR_NOT_AVAILABLE: 'coordinator',
  NOT_COORDINATOR: 'coordinator',
  ILLEGAL_GENERATION: 'group-in-use',
  UNKNOWN_MEMBER_ID: 'group-in-use',
  TOPIC_AUTHORIZATION_FAILED: 'wait',
  GROUP_AUTHORIZATION_FAILED: 'wait',
  CLUSTER_AUTHORIZATION_FAILED: 'wait',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'wait',
  UNSUPPORTED_SASL_MECHANISM: 'login',
  ILLEGAL_SASL_STATE: 'login',
  SASL_AUTHENTICATION_FAILED: 'login',
  OUT_OF_ORDER_SEQUENCE_NUMBER: 'reset',
  INVALID_PRODUCER_EPOCH: 'reset',
  UNKNOWN_PRODUCER_ID: 'reset',
  DUPLICATE_SEQUENCE_NUMBER: 'duplicate',
  INVALID_TXN_STATE: 'aborted',
  TRANSACTION_ABORTABLE: 'aborted',
  INVALID_PRODUCER_ID_MAPPING: 'fenced',
  TRANSACTION_COORDINATOR_FENCED: 'fenced',
  PRODUCER_FENCED: 'fenced',
  INVALID_REQUIRED_ACKS: 'protocol',
  UNSUPPORTED_VERSION: 'protocol',
  INVALID_REQUEST: 'protocol',
  FETCH_SESSION_ID_NOT_FOUND: 'protocol',
  INVALID_FETCH_SESSION_EPOCH: 'protocol',
  FETCH_SESSION_TOPIC_ID_ERROR: 'protocol',
}
/** They mean different things with different requests. */
const unknown: Record<Asked, Verdict> = {
  fetch: 'unknown',
  produce: 'unknown',
  offsets: 'unknown',
  admin: 'unknown',
  other: 'unknown',
}
const twofold: Record<string, Record<Asked, Verdict>> = {
  CORRUPT_MESSAGE: { fetch: 'again', produce: 'refused', offsets: 'again', admin: 'again', other: 'again' },
  REBALANCE_IN_PROGRESS: { ...unknown, offsets: 'group-in-use' },
  INVALID_TOPIC_EXCEPTION: { ...unknown, admin: 'refused' },
  INVALID_PARTITIONS: { ...unknown, admin: 'refused' },
  INVALID_REPLICATION_FACTOR: { ...unknown, admin: 'refused' },
  INVALID_CONFIG: { ...unknown, admin: 'refused' },
  POLICY_VIOLATION: { ...unknown, admin: 'refused' },
}
const requests: Asked[] = ['fetch', 'produce', 'offsets', 'admin', 'other']

describe("Kafka's error numbers", () => {
  it('KAFKA 6: have a verdict each, that of the table', () => {
    for (const [code, name] of kafkaErrors.entries()) {
      for (const asked of requests) {
        assert.equal(classify(asked, code), twofold[name]?.[asked] ?? table[name] ?? 'unknown', `${code} ${name}`)
      }
    }
    for (const name of [...Object.keys(table), ...Object.keys(twofold)]) assert.ok(kafkaErrors.includes(name), name)
    for (const code of [-1, kafkaErrors.length, 999, -2]) assert.equal(classify('produce', code), 'unknown')
  })

  it('KAFKA 6: never end a batch where Kafka says that asking again helps, but a damaged one, whose CRC is ours', () => {
    // What a partition of the sink does not try again.
    const ends: Verdict[] = ['refused', 'unknown', 'ok', 'duplicate']
    for (const name of retriable) {
      const code = kafkaErrors.indexOf(name)
      assert.ok(code > 0, name)
      assert.equal(ends.includes(classify('produce', code)), name === 'CORRUPT_MESSAGE', name)
    }
  })

  it('are trouble under our own codes', () => {
    const troubles = [3, 100, 58, 42, 29, 19, -1].map(code => troubleCode(code, 'destination'))
    assert.deepEqual(troubles, [
      'destination-missing',
      'destination-missing',
      'kafka-login-refused',
      'kafka-protocol',
      'kafka-not-authorized',
      'kafka-unreachable',
      'kafka-unreachable',
    ])
    assert.equal(troubleCode(3, 'source'), 'source-missing')
  })
})
