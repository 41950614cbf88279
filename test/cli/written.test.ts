import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { written } from '../../cli/written.ts'

/** A pipe whose reader takes a piece when it is told to. */
function slowPipe() {
  const taken: string[] = []
  let take: (error?: Error) => void = () => {}
  const stream = new Writable({
    write(piece, _encoding, done) {
      take = error => {
        if (!error) taken.push(String(piece))
        done(error)
      }
    },
  })
  stream.on('error', () => {})
  return { stream, taken, take: (error?: Error) => take(error) }
}

const settled = () => new Promise(resolve => setImmediate(resolve))

test('the end waits until a slow reader has taken the last line', async () => {
  const { stream, taken, take } = slowPipe()
  stream.write('progress')
  stream.write('summary')
  let over = false
  const waiting = written(stream).then(() => {
    over = true
  })
  for (const expected of [['progress'], ['progress', 'summary']]) {
    assert.equal(over, false)
    take()
    await settled()
    assert.deepEqual(taken, expected)
  }
  take()
  await waiting
})

test('the end waits for nobody who has gone, and no longer than it may', async () => {
  const gone = slowPipe()
  gone.stream.write('summary')
  const waiting = written(gone.stream)
  gone.take(new Error('EPIPE'))
  await waiting
  await written(gone.stream)
  const deaf = slowPipe()
  deaf.stream.write('summary')
  const limit = new AbortController()
  const limited = written(deaf.stream, limit.signal)
  limit.abort()
  await limited
})
