/**
 * One Kafka API as we speak it (KAFKA-CLIENT W-12, W-13). `encode` gives the body of a request as parts; `decode`
 * gets the body of a response, which starts after the response header. Bytes in an answer are views of that body.
 */
export type Api<Question, Answer> = {
  key: number
  name: string
  /** The versions we speak; the floors are Kafka 3.0. */
  min: number
  max: number
  encode(version: number, question: Question): Buffer[]
  decode(version: number, body: Buffer): Answer
}

/** A broker as responses name it. */
export type Endpoint = { id: number; host: string; port: number }
export type LeaderHint = { id: number; epoch: number }
