import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { kafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { type RigSet, rig } from '../../rig/set.ts'
import { zookeeper } from '../../rig/zookeeper.ts'
import { fleetApi } from './fleet/api.ts'
import { millrace } from './millrace.ts'
import { live } from './rigFor.ts'

const longestMs = 120_000
const chapter =
  /^## A fleet\n([\s\S]*?)^## /m.exec(readFileSync(new URL('../../README.md', import.meta.url), 'utf8'))?.[1] ?? ''
const blocks = (language: string) =>
  [...chapter.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block)
const [file = ''] = blocks('yaml')
const [start = '', ...nouns] = blocks('sh').flatMap(block => block.trim().split('\n'))
const topics = ['clicks.page', 'clicks.button']

/** Theirs alone, since the README's topics have names that other suites may use. */
const wishes = () => ({ east: want(kafka, {}), west: want(kafka, {}), zk: want(zookeeper, {}) })

describe('the fleet of the README', live, () => {
  let set: RigSet<ReturnType<typeof wishes>>
  let east: KafkaCluster
  const folder = mkdtempSync(join(tmpdir(), 'millrace-readme-'))
  const alive = setInterval(() => {}, longestMs)
  before(async () => {
    set = await rig(wishes())
    east = openPlain('east', set.parts.east.address.bootstrap)
    for (const topic of topics) await east.admin.createTopic(topic, 2)
  })
  after(async () => {
    clearInterval(alive)
    rmSync(folder, { recursive: true })
    await east?.close()
    await set?.dispose()
  })

  test('its file is run by three workers, and each command of the chapter does what it says', async (t: TestContext) => {
    const signal = AbortSignal.any([t.signal, AbortSignal.timeout(longestMs)])
    const path = join(folder, 'fleet.yaml')
    const addressed = file
      .replace('east:9092', set.parts.east.address.bootstrap)
      .replace('west:9092', set.parts.west.address.bootstrap)
      .replace('zk:2181/millrace', set.parts.zk.chroot('readme'))
    writeFileSync(path, `api: { listen: "127.0.0.1:0" }\n${addressed}`)
    const words = start.replace('fleet.yaml', path).split(' ')
    assert.deepEqual(words.slice(0, 2), ['millrace', 'run'])
    const fleet = millrace(words.slice(1), signal)
    const { url } = await fleet.line(line => line.type === 'started' && line['process'] === 'controller')
    const api = fleetApi(() => String(url), signal)
    await api.until(
      () => api.workers(),
      seen => seen.length === 3 && seen.reduce((sum, { held }) => sum + held, 0) === 4,
    )
    for (const line of nouns) {
      const [command, ...args] = line.split(' ')
      assert.equal(command, 'millrace', line)
      const { code, stdout, stderr } = await millrace(args, signal, { MILLRACE_API: String(url) }).ended
      assert.equal(code, 0, `${line}\n${stdout}\n${stderr}`)
      assert.notEqual(stdout, '', line)
    }
    assert.ok(nouns.length > 8)
    await api.until(
      () => api.workers(),
      seen => seen.reduce((sum, { held }) => sum + held, 0) === 2,
    )
    fleet.child.kill('SIGTERM')
    const { code, stderr } = await fleet.ended
    assert.equal(code, 0, stderr)
  })
})
