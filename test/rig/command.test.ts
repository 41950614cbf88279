import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseCommand } from '../../rig/command.ts'
import { RigError } from '../../rig/errors.ts'
import { readKafkaWords } from '../../rig/kafka/options.ts'

const known = ['kafka', 'zookeeper']

function refused(...argv: string[]): RigError {
  try {
    parseCommand(argv, known)
  } catch (error) {
    if (error instanceof RigError && error.code === 'rig-usage') return error
    throw error
  }
  throw new Error(`${argv} was taken`)
}

describe('the command line of the rig', () => {
  it('names parts, how many servers each has, and their options', () => {
    const command = parseCommand(['kafka:east', 'kafka:west=3,sasl-plaintext,heapMb=768', 'zookeeper', '--json'], known)
    assert.deepEqual(command, {
      kind: 'set',
      wishes: [
        { part: 'kafka', key: 'east', words: { count: null, flags: [], values: {} } },
        { part: 'kafka', key: 'west', words: { count: 3, flags: ['sasl-plaintext'], values: { heapMb: '768' } } },
        { part: 'zookeeper', key: 'zookeeper', words: { count: null, flags: [], values: {} } },
      ],
      json: true,
      run: null,
    })
  })

  it('keeps everything after two dashes for the command that it runs', () => {
    const command = parseCommand(['kafka', '--', 'npm', 'test', '--', '--json'], known)
    assert.deepEqual(command.kind === 'set' && [command.run, command.json], [['npm', 'test', '--', '--json'], false])
    assert.match(refused('kafka', '--').message, /no command/)
  })

  it('says what it knows when it does not know a part, and guesses what was meant', () => {
    const error = refused('zokeeper')
    assert.equal(error.message, 'unknown part zokeeper; known: kafka, zookeeper')
    assert.equal(error.hint, 'did you mean zookeeper?')
    assert.match(refused('kdc').hint ?? '', /^usage: /)
  })

  it('refuses two parts of one name, odd counts and options that do not belong', () => {
    assert.match(refused('kafka', 'kafka=3').message, /two parts are called kafka/)
    assert.match(refused('kafka=many').message, /many is not a number/)
    assert.match(refused('kafka:').message, /no key/)
    assert.match(refused('kafka', '--prune').message, /unknown option --prune/)
    assert.match(refused('--json').message, /no part/)
  })

  it('has two commands of its own', () => {
    assert.deepEqual(parseCommand(['cache', '--prune'], known), { kind: 'cache', prune: true })
    assert.deepEqual(parseCommand(['doctor'], known), { kind: 'doctor', fresh: false })
  })
})

describe('the words of a kafka', () => {
  const words = (flags: string[], values: Record<string, string> = {}, count: number | null = null) =>
    readKafkaWords({ count, flags, values })

  it('are listeners, switches, sizes and broker properties', () => {
    assert.deepEqual(words(['sasl-tls', 'proxied'], { heapMb: '768', 'num.io.threads': '4' }, 3), {
      brokers: 3,
      listeners: ['sasl-tls'],
      proxied: true,
      heapMb: 768,
      overrides: { 'num.io.threads': '4' },
    })
  })

  it('are refused when nobody knows them, with the ones that are known', () => {
    assert.throws(() => words(['ssl']), /unknown option ssl; known: plaintext, tls,/)
    assert.throws(() => words([], { heapMb: 'much' }), /unknown option heapMb=much/)
    assert.throws(() => words([], {}, 9), /9 brokers wanted, 1 … 5 are possible/)
  })
})
