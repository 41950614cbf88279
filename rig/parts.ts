import { kafka } from './kafka.ts'
import { type Running, type Wanted, type Words, want } from './part.ts'
import { zookeeper } from './zookeeper.ts'

/** The parts that the command knows, with what its words ask of them. */
export const parts: Record<string, (words: Words) => Wanted<Running<unknown>>> = {
  kafka: words => want(kafka, kafka.read(words)),
  zookeeper: words => want(zookeeper, zookeeper.read(words)),
}
