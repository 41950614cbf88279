import '../../../properties.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { planSend } from '../../../../engine/adapters/kafka/decide/planSend.ts'
import {
  type Answered,
  answered,
  inFlight,
  instead,
  nextToSend,
  recalled,
  refusedNow,
  refuseHead,
  renumbered,
  type SendEntry,
  type SendQueue,
  sendQueue,
  settled,
  wrote,
} from '../../../../engine/adapters/kafka/decide/sendQueue.ts'
import { type ModelPartition, modelPartition, type Written } from '../modelBroker.ts'

type Entry = SendEntry & { content: readonly number[] }
type Partition = ReturnType<typeof partitionOf>
type Carried = { partition: Partition; entry: Entry; written: Written; answer: Answered | null }
type Vice = 'none' | 'before' | 'after' | 'refuse' | 'unknown-producer'
type Step = { do: Deed; n: number }

/** What may happen, and how often beside the other things. */
const weights = {
  send: 3,
  pump: 4,
  process: 4,
  answer: 4,
  decide: 2,
  identify: 2,
  late: 2,
  recall: 1,
  cut: 1,
  restart: 1,
  condemn: 1,
}
type Deed = keyof typeof weights
const deeds = (Object.keys(weights) as Deed[]).flatMap(deed => Array<Deed>(weights[deed]).fill(deed))
const mild: Vice[] = ['none', 'none', 'none', 'none', 'before', 'after']
const all: Vice[] = [...mild, 'none', 'none', 'refuse', 'unknown-producer']

const entryOf = (content: readonly number[]): Entry => ({
  state: 'queued',
  count: content.length,
  bytes: content.length,
  sequence: null,
  written: false,
  inDoubt: false,
  maybeTaken: false,
  outOfOrder: 0,
  content,
})

const nextUnanswered = (queue: SendQueue<Entry>) => queue.entries.find(entry => entry.state === 'sent') as Entry

/** One partition with its flow: the records of the source are 0, 1, 2 …, cut into batches as the dice fall. */
function partitionOf(broker: ModelPartition) {
  return {
    broker,
    queue: sendQueue<Entry>(),
    producerId: null as number | null,
    position: 0,
    end: 0,
    acked: [] as number[],
    skipped: new Set<number>(),
    get held() {
      return this.producerId === null
    },
    mayWrite: () => true,
    send(count: number) {
      const content = Array.from({ length: count }, (_, i) => this.position + i)
      this.position += count
      this.end = Math.max(this.end, this.position)
      this.queue.entries.push(entryOf(content))
    },
  }
}

/** Two partitions, their senders' one link, and the broker behind it. */
function world(vices: readonly Vice[]) {
  const partitions = [partitionOf(modelPartition()), partitionOf(modelPartition())]
  let link: { requests: Carried[][]; processed: number } = { requests: [], processed: 0 }
  /** Requests of lost links that the broker may still carry out: one queue, in the order they were written. */
  let late: Carried[][] = []
  let producers = 0

  const take = (carried: Carried, vice: Vice): Answered => {
    const { broker } = carried.partition
    if (vice === 'before') return 'again'
    if (vice === 'refuse') return 'refused'
    if (vice === 'unknown-producer') return 'reset'
    const error = broker.append(carried.written)
    if (vice === 'after' && error === 0) return 'again'
    return error === 0 ? 'acked' : 'out-of-order'
  }

  const write = () => {
    const picks = planSend<Entry, Partition>(partitions, { open: link.requests.length, openMax: 5, bytesMax: 6 })
    const request = (picks ?? []).map(({ partition, entry }) => {
      wrote(partition.queue, entry)
      assert.ok(partition.producerId !== null && entry.sequence !== null)
      const written = { producerId: partition.producerId, sequence: entry.sequence, content: entry.content }
      return { partition, entry, written, answer: null }
    })
    if (request.length > 0) link.requests.push(request)
  }

  /** What was taken behind a refused batch is told when that one is out of the way. */
  const report = (partition: Partition) => {
    for (const done of settled(partition.queue)) partition.acked.push(...done.content)
  }

  const hear = ({ partition, entry, answer }: Carried) => {
    if (answered(partition.queue, entry, answer ?? 'again')) partition.producerId = null
    report(partition)
  }

  const lose = () => {
    const { requests, processed } = link
    link = { requests: [], processed: 0 }
    for (const carried of requests.flat()) hear({ ...carried, answer: null })
    for (const { queue } of partitions) queue.proven = false
    return requests.slice(processed)
  }

  const acts: Record<Step['do'], (n: number) => void> = {
    send: n => {
      for (let i = 0; i <= (n >> 1) % 4; i++) partitions[n % 2]?.send(1 + ((n >> (3 + i)) % 3))
    },
    pump: n => {
      for (let i = 0; i <= n % 5; i++) write()
    },
    process: n => {
      const request = link.requests[link.processed]
      if (!request) return
      link.processed++
      for (const [i, carried] of request.entries())
        carried.answer = take(carried, vices[(n >> (i * 4)) % vices.length] as Vice)
    },
    answer: () => {
      if (link.processed === 0) return
      link.processed--
      for (const carried of link.requests.shift() ?? []) hear(carried)
    },
    cut: n => {
      const unread = lose()
      late = n % 3 === 0 ? [] : [...late, ...unread]
    },
    late: () => {
      for (const carried of late.shift() ?? []) take(carried, 'none')
    },
    // A broker that comes up again reads nothing of old links; it may have lost what it knew of producers.
    restart: n => {
      lose()
      late = []
      if (n % 2 === 0) for (const { broker } of partitions) broker.forget()
    },
    recall: n => {
      const partition = partitions[n % 2] as Partition
      const first = recalled(partition.queue, () => true)[0]?.content[0]
      if (first !== undefined) partition.position = first
    },
    condemn: n => {
      if (n % 4 === 0) refuseHead((partitions[n % 2] as Partition).queue)
    },
    decide: n => {
      const partition = partitions[n % 2] as Partition
      const refused = refusedNow(partition.queue)
      if (!refused) return
      const half = refused.count >> 1
      const pieces = [refused.content.slice(0, half), refused.content.slice(half)].filter(piece => piece.length > 0)
      if ((n >> 1) % 2 === 0) for (const id of refused.content) partition.skipped.add(id)
      if (instead(partition.queue, (n >> 1) % 2 === 0 ? [] : pieces.map(entryOf))?.renew) partition.producerId = null
      report(partition)
    },
    identify: n => {
      const partition = partitions[n % 2] as Partition
      if (partition.producerId !== null || inFlight(partition.queue) > 0) return
      partition.producerId = ++producers
      renumbered(partition.queue)
    },
  }
  return { partitions, acts, count: () => producers }
}

function play(steps: readonly Step[], vices: readonly Vice[]) {
  const { partitions, acts, count } = world(vices)
  for (const step of steps) acts[step.do](step.n)
  // From here on all is well: whatever is there must come through.
  for (const partition of partitions) while (partition.position < partition.end) partition.send(1)
  const roundsMax = 50 + 10 * partitions.reduce((sum, { queue }) => sum + queue.entries.length, 0)
  for (let round = 0; partitions.some(p => p.queue.entries.length > 0); round++) {
    assert.ok(round < roundsMax, 'batches that nothing moves any more')
    for (const n of [2, 3]) {
      acts.decide(n)
      acts.identify(n)
    }
    for (const deed of ['pump', 'process', 'answer'] as const) acts[deed](0)
  }
  return { partitions, producers: count() }
}

const stepsOf = (...without: Step['do'][]) =>
  fc.array(fc.record({ do: fc.constantFrom(...deeds.filter(deed => !without.includes(deed))), n: fc.nat(255) }), {
    maxLength: 300,
    size: 'max',
  })

/** Batches of 10 records each, and what is heard of those that were written. */
function queueOf(batches: number) {
  const queue = sendQueue<Entry>()
  for (let i = 0; i < batches; i++) queue.entries.push(entryOf(Array.from({ length: 10 }, (_, n) => 10 * i + n)))
  const entries = [...queue.entries]
  const writeAll = () => {
    for (let entry = nextToSend(queue); entry; entry = nextToSend(queue)) wrote(queue, entry)
    return entries.flatMap((entry, i) => (entry.state === 'sent' ? [i] : []))
  }
  const hear = (i: number, answer: Answered) => answered(queue, entries[i] as Entry, answer)
  const proven = () => {
    writeAll()
    hear(0, 'acked')
    settled(queue)
  }
  return { queue, entries, writeAll, hear, proven }
}

describe('the queue of a partition', () => {
  it('sends one batch alone until the broker has shown that it knows the producer, and after a failure again', () => {
    const { writeAll, hear } = queueOf(4)
    assert.deepEqual(writeAll(), [0])
    hear(0, 'acked')
    assert.deepEqual(writeAll(), [1, 2, 3])
    hear(1, 'again')
    assert.deepEqual(writeAll(), [2, 3])
    hear(2, 'out-of-order')
    hear(3, 'out-of-order')
    assert.deepEqual(writeAll(), [1])
  })

  it('writes at most five from the oldest unanswered one on, those that are acknowledged behind it counted', () => {
    const { entries, writeAll, hear, proven } = queueOf(9)
    proven()
    assert.deepEqual(writeAll(), [1, 2, 3, 4, 5])
    hear(1, 'again')
    for (const i of [2, 3, 4]) hear(i, 'acked')
    assert.deepEqual(writeAll(), [5])
    hear(5, 'acked')
    assert.deepEqual(writeAll(), [1])
    assert.deepEqual(
      entries.map(entry => entry.sequence),
      [0, 10, 20, 30, 40, 50, null, null, null],
    )
  })

  it('asks for a new producer when the first one that failed hears 45 twice, and begins with it at 0', () => {
    const { queue, entries, writeAll, hear, proven } = queueOf(3)
    proven()
    writeAll()
    assert.equal(hear(1, 'out-of-order'), false)
    assert.equal(hear(2, 'out-of-order'), false)
    writeAll()
    assert.equal(hear(1, 'out-of-order'), true)
    renumbered(queue)
    writeAll()
    assert.equal(entries[1]?.sequence, 0)
  })

  it('gives the sequences of a refused batch to what comes in its place', () => {
    const { queue, entries, writeAll, hear, proven } = queueOf(3)
    proven()
    writeAll()
    hear(1, 'refused')
    assert.equal(refusedNow(queue), null)
    hear(2, 'out-of-order')
    assert.equal(refusedNow(queue), entries[1])
    assert.equal(nextToSend(queue), null)
    const pieces = [entryOf([10, 11, 12, 13, 14]), entryOf([15, 16, 17, 18, 19])]
    assert.deepEqual(instead(queue, pieces), { refused: entries[1], renew: false })
    for (const _ of [1, 2, 3]) {
      writeAll()
      answered(queue, nextUnanswered(queue), 'acked')
    }
    assert.deepEqual(
      [...pieces, entries[2]].map(entry => entry?.sequence),
      [10, 15, 20],
    )
  })

  it('steps over a refused batch without a hole', () => {
    const { queue, entries, writeAll, hear, proven } = queueOf(3)
    proven()
    writeAll()
    hear(1, 'refused')
    hear(2, 'out-of-order')
    instead(queue, [])
    writeAll()
    assert.equal(entries[2]?.sequence, 10)
  })

  it('wants a new producer where the refused batch, or one behind it, may be in the log under its sequence', () => {
    const inDoubt = queueOf(3)
    inDoubt.proven()
    inDoubt.writeAll()
    inDoubt.hear(1, 'again')
    inDoubt.hear(2, 'again')
    inDoubt.writeAll()
    inDoubt.hear(1, 'refused')
    assert.equal(instead(inDoubt.queue, [])?.renew, true)

    const behind = queueOf(3)
    behind.proven()
    behind.writeAll()
    behind.hear(1, 'out-of-order')
    behind.hear(2, 'again')
    behind.writeAll()
    behind.hear(1, 'refused')
    assert.equal(instead(behind.queue, [])?.renew, true)

    const taken = queueOf(3)
    taken.proven()
    taken.writeAll()
    taken.hear(1, 'refused')
    taken.hear(2, 'acked')
    assert.equal(instead(taken.queue, [])?.renew, true)
  })

  it('keeps a refused batch for its flow when a new producer comes meanwhile', () => {
    const { queue, entries, writeAll, hear } = queueOf(2)
    writeAll()
    hear(0, 'again')
    writeAll()
    hear(0, 'refused')
    renumbered(queue)
    assert.equal(refusedNow(queue), entries[0])
    assert.deepEqual(instead(queue, []), { refused: entries[0], renew: false })
    assert.deepEqual(writeAll(), [1])
    assert.equal(entries[1]?.sequence, 0)
  })

  it('gives back what was never written, but the oldest unanswered one, and no piece before a batch that stays', () => {
    const { queue, entries, writeAll, hear } = queueOf(5)
    assert.deepEqual(recalled(queueOf(5).queue, () => true).length, 4)
    writeAll()
    hear(0, 'acked')
    settled(queue)
    wrote(queue, nextToSend(queue) as Entry)
    wrote(queue, nextToSend(queue) as Entry)
    assert.deepEqual(
      recalled(queue, () => true),
      entries.slice(3),
    )
    assert.deepEqual(
      recalled(queue, () => true),
      [],
    )
    hear(1, 'refused')
    hear(2, 'out-of-order')
    instead(queue, [entryOf([10]), entryOf([11])])
    assert.deepEqual(
      recalled(queue, () => true),
      [],
    )
  })

  it('takes back no piece that stands before a batch that the broker has already', () => {
    const { queue, writeAll, hear, proven } = queueOf(3)
    proven()
    writeAll()
    hear(1, 'refused')
    hear(2, 'acked')
    instead(queue, [entryOf([10]), entryOf([11])])
    assert.deepEqual(
      recalled(queue, () => true),
      [],
    )
  })

  it('refuses the head unasked only when no request is open', () => {
    const { queue, entries, writeAll, hear } = queueOf(2)
    writeAll()
    assert.equal(refuseHead(queue), null)
    hear(0, 'again')
    assert.equal(refuseHead(queue), entries[0])
    assert.equal(refuseHead(queue), null)
    assert.equal(refusedNow(queue), entries[0])
  })
})

describe('the queue of a partition against a broker that fails at random', () => {
  it('loses no record, keeps the order, and never has a batch acknowledged for another one', () => {
    const property = fc.property(stepsOf(), steps => {
      const { partitions } = play(steps, all)
      for (const { broker, position, skipped, acked } of partitions) {
        const wanted = Array.from({ length: position }, (_, id) => id).filter(id => !skipped.has(id))
        assert.deepEqual(broker.mistaken, [])
        assert.deepEqual(acked, wanted)
        assert.deepEqual(
          [...new Set(broker.records)].filter(id => !skipped.has(id)),
          wanted,
        )
      }
    })
    fc.assert(property, { numRuns: 5_000 })
  })

  it('doubles nothing and keeps its producer while the broker knows it and refuses nothing', () => {
    const property = fc.property(stepsOf('restart', 'condemn'), steps => {
      const { partitions, producers } = play(steps, mild)
      assert.ok(producers <= partitions.length)
      for (const { broker } of partitions) assert.equal(new Set(broker.records).size, broker.records.length)
    })
    fc.assert(property, { numRuns: 5_000 })
  })
})
