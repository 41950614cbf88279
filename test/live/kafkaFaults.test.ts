import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, connect as dial } from 'node:net'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import { corruptTriesMax } from '../../engine/limits.ts'
import type { Part } from '../../engine/ports/kafka.ts'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import type { Faults } from '../../rig/proxy/faults.ts'
import {
  addressesOf,
  type Copy,
  clock,
  endOf,
  numbered,
  numbersOf,
  type Opened,
  openCluster,
  startCopy,
  topicIdOf,
  upTo,
  write,
} from './kafkaCopy.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const wishes = () => ({ alone: want(kafka, { proxied: true, listeners: ['tls'], fastFailover: true }) })
const memoryBytes = 24 * 1024 * 1024

describe('one broker and a bad line', live, () => {
  let set: LiveRig<ReturnType<typeof wishes>>
  let east: Opened
  before(async () => {
    set = await rigFor(wishes())
    east = openCluster('east', set.east.bootstrap, new MemoryAccount())
  })
  after(async () => {
    await east.close()
    await set.dispose()
  })

  type Named = 'alone' | 'east' | 'west'
  /** Closed when the test ends, however it does: a socket left behind would hold the whole run. */
  const open = (t: TestContext, account: MemoryAccount, name: Named, addresses = new Map()): Opened => {
    const bootstrap = name === 'alone' ? (set.parts.alone.address.proxied ?? '') : set[name].bootstrap
    const cluster = openCluster(name, bootstrap, account, { addresses })
    t.after(() => cluster.close())
    return cluster
  }

  /** Batches of ten records of 10 kB, uncompressed. */
  const fill = async (cluster: Opened, part: Part, batches: number): Promise<number> => {
    const made = Array.from({ length: batches }, (_, b) => numbered(b * 10, 10, { codec: 'none', bytes: 10_000 }))
    await write(cluster, part, made)
    return batches * 10
  }

  const copyOf = async (from: Opened, to: Opened, part: Part): Promise<Copy> => {
    const topicId = await topicIdOf(from, part.topic)
    return startCopy(from, to, { part: { ...part, topicId }, to: part })
  }

  /** `records` on `part` are copied while `disturb` does its worst; they arrive once each, in order. */
  const survives = async (
    from: Opened,
    to: Opened,
    how: { part: Part; records: number; account: MemoryAccount },
    disturb: (copy: Copy) => Promise<void>,
  ): Promise<void> => {
    const copy = await copyOf(from, to, how.part)
    await disturb(copy)
    await copy.until(BigInt(how.records))
    await copy.end()
    assert.deepEqual(copy.odd, [])
    assert.equal(how.account.heldBytes, 0)
    assert.deepEqual(await numbersOf(to, how.part), upTo(how.records))
    assert.equal(to.counts().producerResets, 0)
  }

  /** Cuts every connection after so many bytes of one direction, until the client has come back. */
  const cutOnce = async (up: Faults, down: Faults): Promise<void> => {
    const [proxy] = set.parts.alone.proxies
    assert.ok(proxy)
    const back = Promise.withResolvers<void>()
    const off = proxy.on('connection', () => back.resolve())
    await proxy.set(up, down)
    await back.promise
    off()
    await proxy.heal()
  }
  const cuts = [1, 4, 5_000, 70_000, 400_000]

  it('a link cut in the middle of a frame loses and doubles nothing, from a source', async t => {
    const account = new MemoryAccount({ poison: true })
    const [alone, west] = [open(t, account, 'alone'), open(t, account, 'west')]
    const part = { topic: `cut-source-${process.pid}`, partition: 0 }
    await Promise.all([alone.admin.createTopic(part.topic, 1), west.admin.createTopic(part.topic, 1)])
    const records = await fill(alone, part, 200)
    await survives(alone, west, { part, records, account }, async () => {
      for (const cutAfterBytes of cuts) await cutOnce({}, { cutAfterBytes })
      for (const cutAfterBytes of [1, 50]) await cutOnce({ cutAfterBytes }, {})
    })
  })

  it('a link cut in the middle of a frame loses and doubles nothing, to a destination', async t => {
    const account = new MemoryAccount({ poison: true })
    const [alone, source] = [open(t, account, 'alone'), open(t, account, 'east')]
    const part = { topic: `cut-destination-${process.pid}`, partition: 0 }
    await Promise.all([alone.admin.createTopic(part.topic, 1), source.admin.createTopic(part.topic, 1)])
    const records = 20_000
    const writing = (async () => {
      for (let n = 0; n < records; n += 200) {
        await write(source, part, [numbered(n, 100, { bytes: 2_000 }), numbered(n + 100, 100, { bytes: 2_000 })])
        await delay(5)
      }
    })()
    await survives(source, alone, { part, records, account }, async () => {
      for (const cutAfterBytes of cuts) await cutOnce({ cutAfterBytes }, {})
      for (const cutAfterBytes of [1, 4, 30]) await cutOnce({}, { cutAfterBytes })
      await writing
    })
  })

  it('a broker killed and started again in the middle of a copy loses and doubles nothing', async t => {
    const account = new MemoryAccount({ poison: true })
    const [alone, source] = [open(t, account, 'alone'), open(t, account, 'east')]
    const part = { topic: `killed-${process.pid}`, partition: 0 }
    const back = { topic: `killed-back-${process.pid}`, partition: 0 }
    for (const { topic } of [part, back])
      await Promise.all([alone.admin.createTopic(topic, 1), source.admin.createTopic(topic, 1)])
    const sent = await fill(source, part, 300)
    const kept = await fill(alone, back, 300)
    // To the broker and from it at the same time.
    await Promise.all([
      survives(source, alone, { part, records: sent, account: new MemoryAccount() }, async copy => {
        await copy.until(100n)
        await set.parts.alone.kill()
        while (copy.lane.trouble() === null) await delay(10)
        await set.parts.alone.restart()
      }),
      survives(alone, source, { part: back, records: kept, account: new MemoryAccount() }, async () => {}),
    ])
    assert.equal(account.heldBytes, 0)
  })

  /** Copies of four partitions whose destination takes nothing, until `wake`: memory stays within the account. */
  const keepsWithin = async (
    t: TestContext,
    how: { account: MemoryAccount; from: Opened; to: Opened; parts: Part[]; records: number; mayWrite: () => boolean },
    wake: () => void,
  ): Promise<void> => {
    const { account, from, to, parts } = how
    const topicId = await topicIdOf(from, parts[0]?.topic ?? '')
    const copies = parts.map(part =>
      startCopy(from, to, { part: { ...part, topicId }, to: part, mayWrite: how.mayWrite }),
    )
    while (account.waiting === 0) await delay(10)
    let most = 0
    const troubles = new Set<unknown>()
    // Longer than the second after which slabs that hold little are copied out.
    for (const endMs = clock.nowMs() + 2_500; clock.nowMs() < endMs; await delay(10)) {
      most = Math.max(most, account.heldBytes)
      for (const copy of copies) troubles.add(copy.stream.trouble())
    }
    t.diagnostic(`${(most / 2 ** 20).toFixed(1)} MiB held at most, ${from.counts().fetchRequests} fetches`)
    assert.ok(most <= memoryBytes, `${most}`)
    wake()
    await Promise.all(copies.map(copy => copy.until(BigInt(how.records))))
    for (const copy of copies) troubles.add(copy.stream.trouble())
    await Promise.all(copies.map(copy => copy.end()))
    const odd = copies.flatMap(copy => copy.odd)
    assert.deepEqual(odd, [])
    assert.deepEqual([...troubles], [null])
    assert.ok(from.counts().fetchRequests <= 60, `${from.counts().fetchRequests} fetches`)
    assert.equal(account.heldBytes, 0)
    for (const part of parts) assert.deepEqual(await numbersOf(to, part), upTo(how.records))
  }

  const fourOf = async (topic: string, from: Opened, to: Opened): Promise<{ parts: Part[]; records: number }> => {
    const parts = [0, 1, 2, 3].map(partition => ({ topic, partition }))
    await Promise.all([from.admin.createTopic(topic, 4), to.admin.createTopic(topic, 4)])
    const [records = 0] = await Promise.all(parts.map(part => fill(from, part, 120)))
    return { parts, records }
  }

  it('a destination that hangs holds no more memory than the account has, and gets everything when it wakes', async t => {
    const account = new MemoryAccount({ poison: true, bytesMax: memoryBytes })
    const [to, from] = [open(t, account, 'alone'), open(t, account, 'east')]
    const made = await fourOf(`hangs-${process.pid}`, from, to)
    await set.parts.alone.pause()
    await keepsWithin(t, { account, from, to, ...made, mayWrite: () => true }, () => set.parts.alone.resume())
  })

  it('a source over TLS waits for memory as a plain one does', async t => {
    const account = new MemoryAccount({ poison: true, bytesMax: memoryBytes })
    const { tls: bootstrap = '', certificates } = set.parts.alone.address
    const ca = readFileSync(certificates?.authority ?? '', 'utf8')
    const from = openCluster('alone', bootstrap, account, {
      security: { tls: async () => ({ ca, client: null, serverName: null }), sasl: null },
    })
    t.after(() => from.close())
    const to = open(t, account, 'west')
    const made = await fourOf(`tls-waits-${process.pid}`, from, to)
    let may = false
    await keepsWithin(t, { account, from, to, ...made, mayWrite: () => may }, () => {
      may = true
    })
  })

  /** Stands in for a broker, and turns a bit of a record's key in what the broker says, `times` times. */
  const flipping = async (t: TestContext, times: number): Promise<{ port: number; left(): number }> => {
    const [broker] = addressesOf(set.east.bootstrap)
    assert.ok(broker)
    let left = times
    const server = createServer(client => {
      const far = dial(broker)
      client.pipe(far)
      far.on('data', bytes => {
        const at = bytes.indexOf('key ')
        if (at >= 0 && left > 0) {
          left--
          bytes.write('K', at)
        }
        client.write(bytes)
      })
      const end = () => {
        client.destroy()
        far.destroy()
      }
      for (const socket of [client, far]) socket.on('close', end).on('error', end)
    })
    t.after(() => server.close())
    await new Promise<void>(resolve => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
    const at = server.address()
    return { port: typeof at === 'object' && at !== null ? at.port : 0, left: () => left }
  }

  for (const [times, becomes] of [
    [corruptTriesMax, 'is fetched again'],
    [1_000_000, 'is told and never sent when it comes again and again'],
  ] as const) {
    it(`a batch with a wrong sum ${becomes}`, async t => {
      const account = new MemoryAccount({ poison: true })
      const part = { topic: `flip-${times}-${process.pid}`, partition: 0 }
      await east.admin.createTopic(part.topic, 1)
      const west = open(t, account, 'west')
      await west.admin.createTopic(part.topic, 1)
      const records = await fill(east, part, 3)
      const line = await flipping(t, times)
      const addresses = new Map([[set.east.bootstrap, { host: '127.0.0.1', port: line.port }]])
      const flipped = open(t, account, 'east', addresses)
      const copy = await copyOf(flipped, west, part)
      await copy.until(BigInt(records))
      await copy.end()
      if (times === corruptTriesMax) {
        assert.deepEqual(copy.odd, [])
        assert.equal(line.left(), 0)
        assert.deepEqual(await numbersOf(west, part), upTo(records))
      } else {
        const [odd] = copy.odd as { is: string; found: number; computed: number; offset: bigint }[]
        assert.equal(odd?.is, 'corrupt')
        assert.notEqual(odd?.found, odd?.computed)
        const end = await endOf(west, part)
        assert.ok(end <= (odd?.offset ?? -1n))
        assert.deepEqual(await numbersOf(west, part), upTo(Number(end)))
      }
      assert.equal(account.heldBytes, 0)
    })
  }
})
