import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Api } from '../../../engine/adapters/kafka/frames/api.ts'
import { Link, type Wire } from '../../../engine/adapters/kafka/link.ts'
import { MemoryAccount } from '../../../engine/adapters/kafka/slab.ts'
import { manualClock } from '../../fakes/clock.ts'

/** Asks nothing and gives the bytes of its answer. */
const echo: Api<null, Buffer> = {
  key: 1,
  name: 'Echo',
  min: 0,
  max: 0,
  encode: () => [Buffer.alloc(1)],
  decode: (_version, body) => body,
}

function frameOf(correlation: number, bytes: number): Buffer {
  const frame = Buffer.alloc(9 + bytes, correlation + 65)
  frame.writeInt32BE(frame.length - 4, 0)
  frame.writeInt32BE(correlation, 4)
  frame.writeUInt8(0, 8)
  return frame
}

/**
 * Like Node: the next buffer is asked for when the last has been given. `late`: so many more pieces come after the link
 * has said that it wants none, as from a TLS socket, which gives what it has deciphered already.
 */
async function answersThrough(late: number, pieceBytes: number, frames: Buffer[]): Promise<string[]> {
  const account = new MemoryAccount({ bytesMax: 300_000, poison: true })
  const other = account.count(Buffer.alloc(290_000))
  let reading = true
  const nothing = () => {}
  const wire: Wire = { cork: nothing, uncork: nothing, write: () => true, destroy: nothing, resume: () => go(true) }
  const clock = manualClock()
  const link = new Link(wire, { name: 'broker', clientId: 'millrace', clock, account })
  link.agree(new Map([[echo.key, 0]]))
  const came: string[] = []
  for (const _ of frames) {
    void link.ask(echo, null, { timeoutMs: 1000 }).then(({ answer, frame }) => {
      came.push(`${String.fromCharCode(answer[0] ?? 0)} ${answer.length} ${new Set(answer).size}`)
      frame.release()
    })
  }
  let left = Buffer.concat(frames)
  let target = link.target()
  let more = late
  const go = (on: boolean) => {
    reading = on
    queueMicrotask(() => {
      while (left.length > 0 && (reading || more-- > 0)) {
        assert.ok(target.length > 0, 'Node takes an empty buffer for a fault')
        const bytes = left.copy(target, 0, 0, Math.min(left.length, target.length, pieceBytes))
        left = left.subarray(bytes)
        reading = link.read(bytes)
        target = link.target()
      }
    })
  }
  go(true)
  await clock.settle()
  assert.deepEqual(came, [])
  other.release()
  await clock.settle()
  await clock.settle()
  assert.equal(account.heldBytes, 0)
  link.end(null)
  return came
}

for (const late of [0, 1, 5]) {
  test(`KAFKA 8: a frame that waits for memory loses nothing when ${late} more pieces come after the pause`, async () => {
    for (const pieceBytes of [16_384, 65_536, 30_000]) {
      const frames = [100_000, 20, 250_000, 65_527, 65_528, 7].map((bytes, i) => frameOf(i, bytes))
      assert.deepEqual(
        await answersThrough(late, pieceBytes, frames),
        frames.map((frame, i) => `${String.fromCharCode(65 + i)} ${frame.length - 9} 1`),
      )
    }
  })
}
