import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { line } from '../../../rig/proxy/line.ts'

const piece = (text: string) => Buffer.from(text)

describe('what a direction of the proxy holds', () => {
  it('lets a piece go when its latency is over, not before', () => {
    const held = line()
    held.hold(piece('a'), 100, 0)
    assert.deepEqual(held.next({ latencyMs: 50 }, 100), { waitMs: 50 })
    assert.deepEqual(held.next({ latencyMs: 50 }, 149), { waitMs: 1 })
    assert.deepEqual(held.next({ latencyMs: 50 }, 150), { slice: piece('a') })
    assert.equal(held.next({ latencyMs: 50 }, 150), null)
  })

  it('keeps the order although the second piece was luckier', () => {
    const held = line()
    held.hold(piece('slow'), 0, 0.9)
    held.hold(piece('fast'), 1, 0.1)
    assert.deepEqual(held.next({ jitterMs: 100 }, 50), { waitMs: 40 })
    assert.deepEqual(held.next({ jitterMs: 100 }, 90), { slice: piece('slow') })
    assert.deepEqual(held.next({ jitterMs: 100 }, 90), { slice: piece('fast') })
  })

  it('cuts a piece into slices of 20 ms and keeps the rate', () => {
    const held = line()
    held.hold(Buffer.alloc(1_000, 'x'), 0, 0)
    let nowMs = 0
    let bytes = 0
    for (;;) {
      const due = held.next({ bytesPerSecond: 1_000 }, nowMs)
      if (due === null) break
      if ('waitMs' in due) {
        nowMs += due.waitMs
        continue
      }
      assert.equal(due.slice.length, 20)
      bytes += due.slice.length
    }
    assert.equal(bytes, 1_000)
    // 50 slices: the first goes at once, the last after 49 · 20 ms.
    assert.equal(nowMs, 980)
  })

  it('sends one byte at a time when the rate is less than a byte a slice', () => {
    const held = line()
    held.hold(piece('ab'), 1_000, 0)
    assert.deepEqual(held.next({ bytesPerSecond: 10 }, 1_000), { slice: piece('a') })
    assert.deepEqual(held.next({ bytesPerSecond: 10 }, 1_000), { waitMs: 80 })
    assert.deepEqual(held.next({ bytesPerSecond: 10 }, 1_080), { slice: piece('b') })
  })

  it('has no burst to give after a silence', () => {
    const held = line()
    held.hold(Buffer.alloc(100), 0, 0)
    held.next({ bytesPerSecond: 1_000 }, 60_000)
    held.next({ bytesPerSecond: 1_000 }, 60_000)
    assert.deepEqual(held.next({ bytesPerSecond: 1_000 }, 60_000), { waitMs: 20 })
  })

  it('lets held pieces go at once, in order, when the faults are gone', () => {
    const held = line()
    held.hold(piece('a'), 0, 0)
    held.hold(piece('b'), 0, 0)
    assert.deepEqual(held.next({ latencyMs: 1_000 }, 1), { waitMs: 999 })
    held.restart()
    assert.deepEqual(held.next({}, 1), { slice: piece('a') })
    assert.deepEqual(held.next({}, 1), { slice: piece('b') })
  })

  it('counts what a piece costs beside its bytes', () => {
    const held = line()
    for (let n = 0; n < 4_096; n++) held.hold(piece('a'), 0, 0)
    assert.ok(held.costBytes > 1024 * 1024)
    held.clear()
    assert.equal(held.costBytes, 0)
  })
})
