import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { kafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { writePlain } from '../../rig/samples.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { runFleet } from './fleet/runningFleet.ts'
import { mirrorFlow } from './flowsFile.ts'
import { type Ended, millrace } from './millrace.ts'
import { live } from './rigFor.ts'

const longestMs = 180_000
const lateMs = 20_000
const wishes = () => ({ east: want(kafka, {}), west: want(kafka, {}), zk: want(zookeeper, {}) })

describe('a fleet by the command line', live, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  let east: KafkaCluster
  let alive: NodeJS.Timeout
  const folder = mkdtempSync(join(tmpdir(), 'millrace-commands-'))
  before(async () => {
    alive = setInterval(() => {}, longestMs)
    set = await rig(wishes())
    east = openPlain('east', set.parts.east.address.bootstrap)
  })
  after(async () => {
    clearInterval(alive)
    rmSync(folder, { recursive: true })
    await east.close()
    await set.dispose()
  })

  async function fleetOf(t: TestContext) {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    await east.admin.createTopic('declared', 2)
    await east.admin.createTopic('applied', 4)
    const fleet = await runFleet(
      t,
      {
        east: set.parts.east.address.bootstrap,
        west: set.parts.west.address.bootstrap,
        zookeeper: set.parts.zk.chroot('commands'),
        flows: { first: mirrorFlow(['declared']) },
        workers: 2,
      },
      signal,
    )
    await fleet.settled({ units: 2, workers: 2 })
    const [controller] = fleet.controllers
    const env = { MILLRACE_API: controller?.url ?? '' }
    const run = (line: string): Promise<Ended> => millrace(line.split(' '), signal, env).ended
    /** Asks again until it fits. */
    const until = async (line: string, fits: RegExp): Promise<void> => {
      const late = AbortSignal.timeout(lateMs)
      for (;;) {
        const { stdout, stderr } = await run(line)
        if (fits.test(stdout)) return
        assert.ok(!late.aborted, `${line}: ${fits} not within ${lateMs} ms:\n${stdout}\n${stderr}`)
      }
    }
    const good = async (line: string): Promise<string> => {
      const { code, stdout, stderr } = await run(line)
      assert.equal(code, 0, `${line}\n${stdout}\n${stderr}`)
      return stdout
    }
    return { fleet, run, until, good, signal }
  }

  test('a flow is declared, looked at, paused, set back, resumed, moved and deleted', async t => {
    const { fleet, run, until, good, signal } = await fleetOf(t)
    const file = join(folder, 'flows.yaml')
    writeFileSync(file, JSON.stringify({ second: mirrorFlow(['applied']) }))
    assert.match(await good(`apply -f ${file} --dry-run`), /^second: would be created \(1 topic, 4 units\)/)
    assert.match(await good(`apply -f ${file}`), /^second: created \(4 units\)/)
    assert.equal(await good(`diff -f ${file}`), 'second: same')
    await fleet.settled({ units: 6, workers: 2 })
    const records = { batches: 1, recordsPerBatch: 5, codec: 'none', timeMs: Date.now(), seed: 'commands' } as const
    await writePlain(east, { topic: 'applied', partition: 3 }, records, signal)
    await until('offsets get second/applied', /^applied +3 +5 +0 +5 +5 +0$/m)
    assert.match(await good('status'), /^second +mirror +none +4 +4 +0 +0 +-$/m)
    assert.match(await good('partitions second/applied/3 --why'), /^checkpoint +5$/m)

    const refused = await run('offsets reset second/applied/3 --to earliest')
    assert.deepEqual([refused.code, /^conflict: .*not paused/.test(refused.stderr)], [1, true], refused.stderr)
    assert.match(await good('pause second --wait 10'), /none of it runs/)
    assert.match(await good('offsets reset second/applied/3 --to earliest --dry-run'), /^applied +3 +5 +0$/m)
    assert.match(await good('offsets reset second/applied/3 --to earliest'), /^applied +3 +5 +0$/m)
    assert.match(await good('partitions second/applied'), /^applied +3 +paused +- +0 +0 +5 +5 +-$/m)
    await good('resume second')
    await until('offsets get second/applied', /^applied +3 +5 +0 +5 +5 +0$/m)

    const workers = (await good('workers -o name')).split('\n')
    const owner = /^worker +(\S+)$/m.exec(await good('partitions second/applied/3 --why'))?.[1] ?? ''
    const other = workers.find(id => id !== owner) ?? ''
    assert.ok(workers.includes(owner))
    await good(`move second/applied/3 --to ${other}`)
    await until('partitions second/applied/3 --why', new RegExp(`^worker +${other}$`, 'm'))
    await good('move second/applied/3 --anywhere')

    await good(`drain ${owner}`)
    await until(`workers ${owner}`, /^units +0 assigned, 0 held/m)
    await good(`undrain ${owner}`)
    await good('rebalance')
    await fleet.settled({ units: 6, workers: 2 })

    const state = join(folder, 'state.json')
    writeFileSync(state, await good('state'))
    await good('delete second')
    await until('flows -o name', /^first$/)
    assert.match(await good(`apply -f ${state} --create-only`), /^first: left \(it is there\)\nsecond: created/)
    await fleet.settled({ units: 6, workers: 2 })
    const edited = await run('delete first')
    assert.deepEqual([edited.code, /edit the file/.test(edited.stderr)], [1, true], edited.stderr)
    await fleet.stop()
    assert.equal((await run('status')).code, 12)
  })
})
