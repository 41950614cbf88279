import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { MemoryAccount } from '../../engine/adapters/kafka/slab.ts'
import type { Part } from '../../engine/ports/kafka.ts'
import { kafka } from '../../rig/kafka.ts'
import { want } from '../../rig/part.ts'
import { numbered, numbersOf, type Opened, openCluster, upTo, write } from './kafkaCopy.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'
import { eventually } from './runFile.ts'
import { soloOf } from './soloOf.ts'

const wishes = () => ({ far: want(kafka, { brokers: 2, proxied: true }) })
const longestMs = 180_000
/** Little, for the kernel takes megabytes of what nobody reads. */
const memoryBytes = 24 * 1024 * 1024
const partitions = 16
const each = 10
/** The first rounds are more than there is memory for; those after them need hardly any, and come at a steady pace. */
const largeRounds = 10
const rounds = 80
const paceMs = 250

describe('two brokers, of which one reads nothing', live, () => {
  let set: LiveRig<ReturnType<typeof wishes>>
  let east: Opened
  let plain: Opened
  const account = new MemoryAccount({ bytesMax: memoryBytes, poison: true })
  before(async () => {
    set = await rigFor(wishes())
    east = openCluster('east', set.east.bootstrap, new MemoryAccount())
    plain = openCluster('far', set.parts.far.address.bootstrap, new MemoryAccount())
  })
  after(async () => {
    await Promise.all([east?.close(), plain?.close()])
    await set?.dispose()
  })

  it('the partitions of the other broker go on, and after healing all is there once', async t => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const topic = `deaf-${process.pid}`
    const parts: Part[] = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
    await Promise.all([east.admin.createTopic(topic, partitions), plain.admin.createTopic(topic, partitions)])
    const found = (await plain.admin.look([topic])).topics[0]?.partitions ?? []
    const deafId = found[0]?.leader
    const others = parts.filter(({ partition }) => found.find(one => one.partition === partition)?.leader !== deafId)
    const proxy = set.parts.far.proxies[set.parts.far.brokers.findIndex(one => one.address.id === deafId)]
    assert.ok(proxy && others.length > 0 && others.length < partitions)
    const moved = async (of: Part[]) =>
      (await plain.admin.offsets(of, 'end')).reduce((sum, { offset }) => sum + Number(offset ?? 0n), 0)

    const source = openCluster('east', set.east.bootstrap, account)
    const sink = openCluster('far', set.parts.far.address.proxied ?? '', account)
    const stop = new AbortController()
    const solo = soloOf(topic, { topics: { names: [topic] } }, { east: source, west: sink, stop: stop.signal })
    t.after(async () => {
      await proxy.heal()
      stop.abort()
      await solo.done
      await Promise.all([source.close(), sink.close()])
    })
    let round = 0
    const writeRound = async () => {
      const how = round > 0 && round <= largeRounds ? { codec: 'none' as const, bytes: 40_000 } : { bytes: 600 }
      await Promise.all(parts.map(part => write(east, part, [numbered(round * each, each, how)])))
      round++
    }
    await writeRound()
    await eventually(async () => ((await moved(parts)) === partitions * each ? true : null), signal)

    await proxy.set({ stall: true }, {})
    let mostBytes = 0
    while (round < rounds) {
      await writeRound()
      mostBytes = Math.max(mostBytes, account.heldBytes)
      await delay(paceMs)
    }
    const share = (await moved(others)) / (others.length * rounds * each)
    t.diagnostic(`${(100 * share).toFixed(1)} % of what was written went on, ${mostBytes} bytes were held at most`)
    assert.ok(share >= 0.8, `${share}`)
    assert.ok(mostBytes <= memoryBytes, `${mostBytes} bytes held`)

    await proxy.heal()
    await eventually(async () => ((await moved(parts)) >= partitions * rounds * each ? true : null), signal)
    for (const part of parts) assert.deepEqual(await numbersOf(plain, part), upTo(rounds * each), `${part.partition}`)
  })
})
