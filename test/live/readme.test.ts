import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { KafkaCluster } from '../../engine/ports/kafka.ts'
import { type KafkaAddress, kafka } from '../../rig/kafka.ts'
import { openPlain } from '../../rig/openPlain.ts'
import { want } from '../../rig/part.ts'
import { type Ended, millrace } from './millrace.ts'
import { groupTool, untilEnd, write } from './mirrorPlaces.ts'
import { type LiveRig, live, rigFor } from './rigFor.ts'

const longestMs = 120_000
const secret = 'readme-secret'
const records = 20
/** The chapter of the fleet has a suite of its own. */
const text = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').replace(
  /^## A fleet\n[\s\S]*?^(?=## )/m,
  '',
)
const blocks = (language: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block)
const [flows = '', secured = ''] = blocks('yaml')
const commands = blocks('sh').flatMap(block => block.trim().split('\n'))
const copied = { 'clicks.page': 'clicks.page', 'clicks.button': 'clicks.button', ledger: 'east.ledger' }

/** Theirs alone, since the README's topics have names that other suites may use. */
const wishes = () => ({
  east: want(kafka, {}),
  west: want(kafka, { listeners: ['sasl-tls'], users: [{ name: 'millrace', password: secret }] }),
})

/** Words of a line of shell; the README quotes with single quotes only. */
const wordsOf = (line: string) =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')

describe('the commands and files of the README', live, () => {
  let set: LiveRig<ReturnType<typeof wishes>>
  let east: KafkaCluster
  let west: KafkaCluster
  let addresses: Record<'east' | 'west', KafkaAddress>
  const folder = mkdtempSync(join(tmpdir(), 'millrace-readme-'))
  const alive = setInterval(() => {}, longestMs)
  const unrun = new Set(commands)

  before(async () => {
    set = await rigFor(wishes())
    addresses = { east: set.parts.east.address, west: set.parts.west.address }
    east = openPlain('east', addresses.east.bootstrap)
    west = openPlain('west', addresses.west.bootstrap)
    for (const topic of Object.keys(copied)) await east.admin.createTopic(topic, 1)
    for (const topic of Object.keys(copied)) await write(east, { topic, partition: 0 }, [0, records], soon())
    writeFileSync(join(folder, 'ca.pem'), readFileSync(addresses.west.certificates?.authority ?? ''))
    // As the comment in the README has it.
    const shape = /\{"username".*\}/.exec(secured)?.[0] ?? ''
    writeFileSync(join(folder, 'west-password.json'), shape.replace('…', secret))
    writeFileSync(join(folder, 'millrace.yaml'), ours(flows))
  })
  after(async () => {
    clearInterval(alive)
    rmSync(folder, { recursive: true })
    await Promise.all([east?.close(), west?.close()])
    await set?.dispose()
  })

  const soon = () => AbortSignal.timeout(longestMs)
  /** In our clusters and our folder. */
  const ours = (said: string) =>
    said
      .replaceAll('east:9092', addresses.east.bootstrap)
      .replaceAll('west:9092', addresses.west.bootstrap)
      .replaceAll('west:9093', addresses.west.saslTls ?? '')
      .replaceAll('millrace.yaml', join(folder, 'millrace.yaml'))

  /** The only command of the README that has all these words and none of those after `but`, with `more` behind it. */
  function start(words: string[], but: string[] = [], more: string[] = []) {
    const found = commands.filter(line => {
      const all = wordsOf(line)
      return words.every(word => all.includes(word)) && !but.some(word => all.includes(word))
    })
    assert.equal(found.length, 1, `${words.join(' ')}: ${found.join('\n') || 'not in the README'}`)
    const [command = '', ...args] = wordsOf(ours(found[0] ?? ''))
    assert.equal(command, 'millrace')
    unrun.delete(found[0] ?? '')
    return millrace([...args, ...more], soon())
  }
  const ended = async (...of: Parameters<typeof start>): Promise<Ended> => {
    const end = await start(...of).ended
    assert.equal(end.code, 0, `${end.stdout}\n${end.stderr}`)
    return end
  }
  const arrived = (topic: string, count: number) => untilEnd(west, { topic, partition: 0 }, count, soon())

  test('--dry-run changes nothing, the endless mirror copies until it is stopped, --until-end goes on, and verify finds both sides equal', async () => {
    const endless = ['--dry-run', '--until-end', 'verify', 'acls']
    const dry = await ended(['mirror', '--dry-run'])
    const selected = dry.lines.filter(line => line['selected'] === true).map(line => line['topic'])
    assert.deepEqual(selected, ['clicks.button', 'clicks.page'])
    assert.deepEqual((await west.admin.look('all')).topics, [])

    const running = start(['mirror', '--from', '--to'], endless)
    await running.line(line => line.type === 'progress' && line['records'] === 2 * records)
    const { url } = await running.logged(line => line['msg'] === 'listening')
    for (const path of ['livez', 'readyz', 'metrics']) assert.equal((await fetch(`${url}/${path}`)).status, 200, path)
    running.child.kill('SIGTERM')
    const stopped = await running.ended
    assert.equal(stopped.code, 0, stopped.stderr)

    await write(east, { topic: 'clicks.page', partition: 0 }, [records, 2 * records], soon())
    await ended(['mirror', '--until-end'])
    await arrived('clicks.page', 2 * records)
    await arrived('clicks.button', records)
    const verdicts = (await ended(['verify', '--deep'])).stdout.match(/"verdict":"\w+"/g)
    assert.deepEqual(verdicts, ['"verdict":"equal"', '"verdict":"equal"'])
  })

  test('the file of flows is checked, explained and run, and an offset is set with the command of Kafka', async () => {
    assert.equal((await ended(['config', 'check'])).stdout, 'ok: 2 clusters, 2 flows')
    assert.match((await ended(['config', 'explain'])).stdout, /^ {4}compression: keep # default$/m)
    const running = start(['run', '-c'])
    await running.line(line => line.type === 'progress' && line['flow'] === 'ledger' && line['records'] === records)
    running.child.kill('SIGTERM')
    const stopped = await running.ended
    assert.equal(stopped.code, 0, stopped.stderr)
    await arrived('east.ledger', records)

    const [tool = ''] = /^kafka-consumer-groups\.sh .*$/m.exec(text) ?? []
    const [, group = '', topic = '', more = ''] = /--group millrace\.(\S+) --topic (\S+) (.*)$/.exec(tool) ?? []
    await groupTool(
      addresses.east.bootstrap,
      group,
      topic.replace(/:\d+$/, ':0'),
      ...wordsOf(more.replace('4183', '3')),
    )
    const [entry] = await east.checkpoints.load(`millrace.${group}`, 'all', soon())
    assert.equal(entry?.offset, 3n)
  })

  test('words of operators are taken by a flow of the file', async () => {
    const words = [...text.matchAll(/`((?:paused|skips|loopGuard): [^`]+)`/g)].map(([, word = '']) => word)
    assert.ok(words.length >= 4, words.join('; '))
    for (const [at, word] of words.entries()) {
      const path = join(folder, `word-${at}.yaml`)
      writeFileSync(path, ours(flows).replace('gaps: stop', word))
      const end = await millrace(['config', 'check', '-c', path], soon()).ended
      assert.equal(end.code, 0, `${word}: ${end.stderr}`)
    }
  })

  test('the secured cluster of the README is mirrored to, from a file of its own', async () => {
    const path = join(folder, 'west.yaml')
    // What stands under `west:` there.
    writeFileSync(
      path,
      ours(secured)
        .replace(/^clusters:\n {2}west:\n/, '')
        .replaceAll(/^ {4}/gm, ''),
    )
    assert.match(text, /`--destination-config west\.yaml`/)
    const sides = ['--from', addresses.east.bootstrap, '--destination-config', path, '--name', 'readme']
    const end = await millrace(['mirror', ...sides, '--topics', 'ledger', '--until-end'], soon()).ended
    assert.equal(end.code, 0, `${end.stdout}\n${end.stderr}`)
    await arrived('ledger', records)
    assert.doesNotMatch(`${end.stdout}${end.stderr}`, new RegExp(secret))
  })

  test('the rights are printed as commands, and no command of the README was left out', async () => {
    const { stdout } = await ended(['acls', '--needed'])
    assert.match(stdout, /^kafka-acls\.sh .*User:millrace/m)
    assert.deepEqual([...unrun], [])
  })
})
