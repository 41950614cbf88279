import type { Api } from '../../engine/adapters/kafka/frames/api.ts'
import type { Dice } from './dice.ts'
import type { Struct, Value } from './interpreter.ts'

/** How an API of ours and Kafka's schema of it say the same. */
export type Counterpart<Question, Answer> = {
  api: Api<Question, Answer>
  question(dice: Dice): Question
  /** What the request must be to Kafka. */
  asked(question: Question, version: number): Struct
  /** What the answer must be to us; deep equality, so in Kafka's terms it is only `unknown`. */
  answered(response: Struct, version: number): unknown
}

/** Of an array; absent (a tagged one) = empty. */
export function each<T>(list: Value | undefined, map: (item: Struct) => T): T[] {
  return ((list ?? []) as Struct[]).map(map)
}

const zeroId = 'AAAAAAAAAAAAAAAAAAAAAA'
/** The zero id is `''` to us. */
export const ourId = (id: Value | undefined) => (id === zeroId ? '' : id)
export const kafkasId = (id: string) => (id === '' ? zeroId : id)
/** A topic in a question: by name below the version, by id from it on. */
export const named = (field: string, topic: { topic: string; topicId: string }, byId: boolean): Struct =>
  byId ? { TopicId: kafkasId(topic.topicId) } : { [field]: topic.topic }
/** A topic in an answer, likewise. */
export const namedByKafka = (field: string, topic: Struct, byId: boolean) =>
  byId ? { topic: null, topicId: ourId(topic['TopicId']) } : { topic: topic[field], topicId: null }

export const ourTopic = (dice: Dice) => ({ topic: dice.text(), topicId: ourId(dice.uuid()) as string })

/** With a leader hint and the endpoints, as Fetch and Produce have them. */
export const leaderOf = (partition: Struct) => {
  const leader = partition['CurrentLeader'] as Struct | undefined
  return leader ? { id: leader['LeaderId'], epoch: leader['LeaderEpoch'] } : null
}
export const endpointsOf = (response: Struct) =>
  each(response['NodeEndpoints'], e => ({ id: e['NodeId'], host: e['Host'], port: e['Port'] }))
