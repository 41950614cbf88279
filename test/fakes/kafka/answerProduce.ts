import { Buffer } from 'node:buffer'
import { Writer } from '../../../engine/adapters/kafka/wire.ts'
import type { Part } from '../../../engine/ports/kafka.ts'
import { type FakeBrokers, firstPort, type Request } from './broker.ts'
import type { AppendAnswer } from './producers.ts'
import type { FakeTopic } from './state.ts'

type Produced = AppendAnswer & { partition: number; leader: { id: number; epoch: number } | null }

/** Takes the batches of a Produce request in (W-13, W-50); gives the answer's body and what was asked for. */
export function answerProduce(
  brokers: FakeBrokers,
  broker: number,
  request: Request,
): { body: Buffer[]; parts: Part[] } {
  const r = request.body
  const byId = request.version >= 13
  const parts: Part[] = []
  r.str()
  r.i16()
  r.i32()
  const topics =
    r.array(() => {
      const name = byId ? r.uuid() : (r.str() ?? '')
      const topic = byId ? brokers.state.topicById(name) : brokers.state.topics.get(name)
      const partitions =
        r.array(() => {
          const partition = r.i32()
          const bytes = r.bytes() ?? Buffer.alloc(0)
          r.tags()
          if (topic) parts.push({ topic: topic.topic, partition })
          return take(brokers, broker, topic, { partition, bytes, byId })
        }) ?? []
      r.tags()
      return { name, partitions }
    }) ?? []
  const w = new Writer()
  w.array(topics, t => {
    if (byId) w.uuid(t.name)
    else w.str(t.name)
    w.array(t.partitions, p => {
      w.i32(p.partition).i16(p.error).i64(p.baseOffset).i64(-1n).i64(0n)
      w.array([], () => {}).str(p.error === 0 ? null : `the broker says ${p.error}`)
      writeLeader(w, 0, p.leader)
    }).tags()
  }).i32(0)
  writeEndpoints(w, topics.some(t => t.partitions.some(p => p.leader)) ? brokers.state.brokers : 0)
  return { body: w.done(), parts }
}

function take(
  brokers: FakeBrokers,
  broker: number,
  topic: FakeTopic | undefined,
  asked: { partition: number; bytes: Buffer; byId: boolean },
): Produced {
  const { partition, bytes, byId } = asked
  const place = topic?.partitions[partition]
  if (!topic || !place) return { partition, error: byId ? 100 : 3, baseOffset: -1n, leader: null }
  const leader = { id: place.leader, epoch: place.log.epoch }
  if (place.leader !== broker) return { partition, error: 6, baseOffset: -1n, leader }
  const i = brokers.produceFaults.findIndex(f => f.part.topic === topic.topic && f.part.partition === partition)
  const fault = i < 0 ? null : brokers.produceFaults.splice(i, 1)[0]
  if (fault && !fault.taken) return { partition, error: fault.code, baseOffset: -1n, leader: null }
  const bytesMax = Number(topic.configs.get('max.message.bytes') ?? Number.POSITIVE_INFINITY)
  const answer = bytes.length > bytesMax ? { error: 10, baseOffset: -1n } : place.log.produce(bytes)
  if (fault) return { partition, error: fault.code, baseOffset: -1n, leader: null }
  return { partition, ...answer, leader: null }
}

/** The tag of Fetch and Produce answers that names a moved leader, closing a tag section. */
export function writeLeader(w: Writer, tag: number, leader: { id: number; epoch: number } | null): void {
  if (!leader) {
    w.tags()
    return
  }
  w.uvarint(1).uvarint(tag).uvarint(9).i32(leader.id).i32(leader.epoch).tags()
}

/** The tag with the addresses of the brokers that leaders were named of, closing a tag section; 0 = none. */
export function writeEndpoints(w: Writer, brokers: number): void {
  if (brokers === 0) {
    w.tags()
    return
  }
  const inner = new Writer()
  inner.array([...Array(brokers).keys()], id => {
    inner
      .i32(id)
      .str('fake')
      .i32(firstPort + id)
      .str(null)
      .tags()
  })
  const bytes = Buffer.concat(inner.done())
  w.uvarint(1).uvarint(0).uvarint(bytes.length)
  for (const byte of bytes) w.i8((byte << 24) >> 24)
}
