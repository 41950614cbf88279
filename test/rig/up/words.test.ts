import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseUp } from '../../../rig/up/words.ts'

const refused = (args: string[]) => {
  let message = ''
  assert.throws(
    () => parseUp(args),
    (error: Error & { code?: string }) => {
      message = error.message
      return error.code === 'rig-usage'
    },
  )
  return message
}

test('the words of ./dev up', () => {
  assert.deepEqual(parseUp([]), { check: false, fleet: false, brokers: null, yes: false })
  assert.deepEqual(parseUp(['--check']), { check: true, fleet: false, brokers: null, yes: false })
  assert.deepEqual(parseUp(['--fleet']), { check: false, fleet: true, brokers: null, yes: false })
  const brokers = { from: 'a:9092,b:9092', to: 'c:9092' }
  assert.deepEqual(parseUp(['--from', brokers.from, '--to=c:9092', '--yes']), {
    check: false,
    fleet: false,
    brokers,
    yes: true,
  })
})

test('help is given when it is asked for, whatever else is said', () => {
  assert.equal(parseUp(['--help']), 'help')
  assert.equal(parseUp(['--check', '-h']), 'help')
})

test('what is wrong with them is named', () => {
  assert.match(refused(['--from', 'a:9092']), /--from and --to go together/)
  assert.match(refused(['--from', 'a']), /--from: expected HOST:PORT, found 'a'/)
  assert.match(refused(['--to']), /--to: expected HOST:PORT, found ''/)
  assert.match(refused(['--fleet', '--check']), /--fleet goes on until Ctrl-C/)
  assert.match(refused(['--fleet', '--from', 'a:1', '--to', 'b:1']), /takes no --from and --to/)
  assert.match(refused(['--zookeeper', 'a:2181']), /unknown option --zookeeper/)
})
