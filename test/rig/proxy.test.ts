import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { randomPorts } from '../../rig/ports.ts'
import type { Direction, Faults } from '../../rig/proxy/faults.ts'
import { hangingAddress } from '../../rig/proxy/hanging.ts'
import { type FaultProxy, proxy } from '../../rig/proxy.ts'

const ports = randomPorts()
const directions: Direction[] = ['up', 'down']
const payload = randomBytes(300_000)
const cutBytes = 12_345

/** What one end of a connection has got so far, and how it ended. */
interface Ear {
  socket: Socket
  got: Buffer[]
  bytes(): number
  /** Resolves when so many bytes are there. */
  has(bytes: number): Promise<Buffer>
  /** The end: null = closed in order, else the error's code. */
  closed: Promise<string | null>
}

function ear(socket: Socket): Ear {
  const got: Buffer[] = []
  let code: string | null = null
  const bytes = () => got.reduce((sum, piece) => sum + piece.length, 0)
  socket.on('data', piece => got.push(piece))
  socket.on('error', (error: NodeJS.ErrnoException) => {
    code = error.code ?? error.message
  })
  const closed = new Promise<string | null>(resolve => socket.on('close', () => resolve(code)))
  return {
    socket,
    got,
    bytes,
    closed,
    async has(wanted) {
      while (bytes() < wanted) {
        const ended = await Promise.race([once(socket, 'data').then(() => false), closed.then(() => true)])
        if (ended) break
      }
      assert.equal(bytes(), wanted)
      return Buffer.concat(got)
    },
  }
}

/** An echo server that remembers what it heard. */
async function echoServer() {
  const heard: Ear[] = []
  const server = createServer({ allowHalfOpen: true }, socket => {
    heard.push(ear(socket))
    socket.pipe(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { heard, address: { host: '127.0.0.1', port }, close: () => server.close() }
}

/** A server that reads a piece, then rests a turn: always slower than its sender. */
async function slowSink() {
  let bytes = 0
  let wanted = { bytes: 0, there: () => {} }
  const server = createServer(socket => {
    socket.on('data', piece => {
      bytes += piece.length
      socket.pause()
      setImmediate(() => socket.resume())
      if (bytes >= wanted.bytes) wanted.there()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    address: { host: '127.0.0.1', port },
    has: (total: number) =>
      new Promise<void>(there => {
        wanted = { bytes: total, there }
        if (bytes >= total) there()
      }),
    close: () => server.close(),
  }
}

/** What could happen without a fault would have happened by then: every hop is a turn or two of this process. */
async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await new Promise(resolve => setImmediate(resolve))
}

const faultsOf = (direction: Direction, faults: Faults): [Faults, Faults] =>
  direction === 'up' ? [faults, {}] : [{}, faults]

describe('the fault proxy', () => {
  let echo: Awaited<ReturnType<typeof echoServer>>
  before(async () => {
    echo = await echoServer()
  })
  after(() => echo.close())

  /** A proxy with a client that is connected through it to the echo server's last connection. */
  async function joined(use: (proxied: FaultProxy, client: Ear, far: Ear) => Promise<void>, first: Faults[] = []) {
    await using proxied = await proxy(echo.address, { ports })
    await proxied.set(first[0] ?? {}, first[1] ?? {})
    const before = echo.heard.length
    const client = ear(connect({ ...proxied.address, allowHalfOpen: true }))
    client.socket.write('hello')
    await client.has('hello'.length)
    client.got.length = 0
    const far = echo.heard[before]
    assert.ok(far)
    far.got.length = 0
    try {
      await use(proxied, client, far)
    } finally {
      client.socket.destroy()
      far.socket.destroy()
    }
  }

  for (const direction of directions) {
    const fault = (name: string) => `RIG 8: ${name}, ${direction}`

    for (const [name, faults, leastMs] of [
      ['late bytes are all there and in order', { latencyMs: 30 }, 29],
      ['bytes with jitter are all there and in order', { latencyMs: 1, jitterMs: 12 }, 0],
      ['a slow line passes every byte', { bytesPerSecond: 3_000_000 }, 50],
    ] as const) {
      it(fault(name), () =>
        joined(async (proxied, client, far) => {
          await proxied.set(...faultsOf(direction, faults))
          const began = performance.now()
          client.socket.end(payload)
          assert.deepEqual(await client.has(payload.length), payload)
          assert.ok(performance.now() - began >= leastMs, 'earlier than the line allows')
          assert.equal(await client.closed, null)
          assert.equal(await far.closed, null)
          const bytes = payload.length + 'hello'.length
          assert.deepEqual(proxied.count, { connections: 1, upBytes: bytes, downBytes: bytes })
        }),
      )
    }

    it(fault('a black hole is silent, swallows the half-close, and after healing gives all in order'), () =>
      joined(async (proxied, client, far) => {
        const ended: string[] = []
        far.socket.on('end', () => ended.push('up'))
        client.socket.on('end', () => ended.push('down'))
        await proxied.set(...faultsOf(direction, { blackHole: true }))
        client.socket.end(payload)
        await manyTurns()
        assert.equal(direction === 'up' ? far.bytes() : client.bytes(), 0)
        assert.deepEqual(ended, direction === 'up' ? [] : ['up'])
        await proxied.heal()
        assert.deepEqual(await client.has(payload.length), payload)
        assert.equal(await client.closed, null)
        assert.deepEqual(ended, ['up', 'down'])
      }),
    )

    it(fault('a refused connection is reset'), async () => {
      await using proxied = await proxy(echo.address, { ports })
      await proxied.set(...faultsOf(direction, { refuse: true }))
      const before = echo.heard.length
      const client = ear(connect(proxied.address))
      assert.equal(await client.closed, 'ECONNRESET')
      const reached = echo.heard.slice(before)
      assert.equal(reached.length, direction === 'up' ? 0 : 1)
      for (const far of reached) assert.equal(await far.closed, 'ECONNRESET')
      assert.deepEqual(proxied.count, { connections: 1, upBytes: 0, downBytes: 0 })
    })

    it(fault('exactly so many bytes pass, then both ends are reset'), () =>
      joined(async (proxied, client, far) => {
        await proxied.set(...faultsOf(direction, { cutAfterBytes: cutBytes }))
        client.socket.write(payload.subarray(0, 50_000))
        assert.equal(await client.closed, 'ECONNRESET')
        assert.equal(await far.closed, 'ECONNRESET')
        const receiver = direction === 'up' ? far : client
        assert.deepEqual(Buffer.concat(receiver.got), payload.subarray(0, cutBytes))
        assert.equal(proxied.count[`${direction}Bytes`], cutBytes + 'hello'.length)
      }),
    )

    it(fault('a stalled line fills the sender, and goes on after healing'), () =>
      joined(async (proxied, client, far) => {
        const much = randomBytes(16 * 1024 * 1024)
        await proxied.set(...faultsOf(direction, { stall: true }))
        client.socket.write(much)
        await manyTurns()
        const [sender, receiver] = direction === 'up' ? [client, far] : [far, client]
        assert.equal(receiver.bytes(), 0)
        assert.ok(sender.socket.writableLength > 0, 'the sender has sent everything')
        await proxied.heal()
        assert.deepEqual(await client.has(much.length), much)
      }),
    )

    it(fault('a cut resets both ends, and the next connection is clean'), () =>
      joined(
        async (proxied, client, far) => {
          client.socket.write(payload)
          await manyTurns()
          await proxied.cut()
          assert.equal(await client.closed, 'ECONNRESET')
          assert.equal(await far.closed, 'ECONNRESET')
          await proxied.heal()
          const next = ear(connect(proxied.address))
          next.socket.write(payload)
          assert.deepEqual(await next.has(payload.length), payload)
          next.socket.destroy()
          assert.equal(await next.closed, null)
        },
        faultsOf(direction, { latencyMs: 5 }),
      ),
    )
  }

  it('passes a reset of one end on to the other', () =>
    joined(async (_, client, far) => {
      client.socket.resetAndDestroy()
      assert.equal(await far.closed, 'ECONNRESET')
    }))

  it('resets a client whose target does not listen', async () => {
    await using proxied = await proxy({ host: '127.0.0.1', port: await ports.take() }, { ports })
    assert.equal(await ear(connect(proxied.address)).closed, 'ECONNRESET')
  })

  it('counts a cut from the moment it is set, on connections that have lived before', () =>
    joined(async (proxied, client) => {
      client.socket.write(payload)
      await client.has(payload.length)
      await proxied.set({}, { cutAfterBytes: 3 })
      client.socket.write('abcdef')
      assert.equal(await client.closed, 'ECONNRESET')
      assert.equal(Buffer.concat(client.got).subarray(payload.length).toString(), 'abc')
    }))

  it('tells of connections and bytes', async () => {
    await using proxied = await proxy(echo.address, { ports })
    const told: unknown[] = []
    proxied.on('connection', number => told.push(number))
    const off = proxied.on('bytes', (direction, bytes) => told.push([direction, bytes]))
    const client = ear(connect(proxied.address))
    client.socket.write('abc')
    await client.has(3)
    assert.deepEqual(told, [1, ['up', 3], ['down', 3]])
    off()
    client.socket.write('abc')
    await client.has(6)
    assert.equal(told.length, 3)
    client.socket.destroy()
  })
})

describe('the fault proxy in its own process', () => {
  it('has the same face', async () => {
    const echo = await echoServer()
    await using proxied = await proxy(echo.address, { ports, separate: true })
    const connections: number[] = []
    proxied.on('connection', number => connections.push(number))
    await proxied.set({}, { cutAfterBytes: cutBytes })
    const client = ear(connect(proxied.address))
    client.socket.write(payload)
    assert.equal(await client.closed, 'ECONNRESET')
    assert.deepEqual(Buffer.concat(client.got), payload.subarray(0, cutBytes))
    await proxied.heal()
    assert.deepEqual(connections, [1])
    assert.equal(proxied.count.downBytes, cutBytes)
    await proxied.stop()
    assert.equal(await ear(connect(proxied.address)).closed, 'ECONNREFUSED')
    await assert.rejects(proxied.heal(), { code: 'rig-died' })
    echo.close()
  })

  it('ends when its owner is killed', async () => {
    const module = (path: string) => JSON.stringify(new URL(`../../rig/${path}`, import.meta.url).href)
    const program = `
      import { proxy } from ${module('proxy.ts')}
      import { randomPorts } from ${module('ports.ts')}
      const opened = await proxy({ host: '127.0.0.1', port: 9 }, { ports: randomPorts(), separate: true })
      process.stdout.write(String(opened.address.port), () => process.kill(process.pid, 'SIGKILL'))
    `
    const owner = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'pipe'] })
    let port = ''
    owner.stdout.on('data', text => {
      port += text
    })
    owner.stderr.resume()
    // The proxy's process has the same standard error: the pipe closes when both are gone.
    assert.deepEqual(await once(owner, 'close'), [null, 'SIGKILL'])
    assert.match(port, /^\d+$/)
    assert.equal(await ear(connect({ host: '127.0.0.1', port: Number(port) })).closed, 'ECONNREFUSED')
  })

  it('RIG 8: 100 MiB through the 1 MiB buffer keep memory growth below 16 MiB', async t => {
    const wanted = 100 * 1024 * 1024
    const sink = await slowSink()
    await using proxied = await proxy(sink.address, { ports, separate: true })
    const rssMb = () =>
      Number(execFileSync('ps', ['-o', 'rss=', '-p', `${proxied.pids[0]}`], { encoding: 'utf8' })) / 1024
    const client = connect(proxied.address)
    t.after(() => {
      client.destroy()
      sink.close()
    })
    const chunk = randomBytes(1024 * 1024)
    const send = () => {
      for (let sent = 0; sent < wanted; sent += chunk.length) client.write(chunk)
    }
    // Once without a fault: what the runtime keeps for reading is not what the proxy holds.
    send()
    await sink.has(wanted)
    const restMb = rssMb()

    await proxied.set({ blackHole: true }, {})
    send()
    await manyTurns()
    assert.ok(client.writableLength > wanted / 2, 'the client was not made to wait')
    let mostMb = rssMb()
    await proxied.heal()
    proxied.on('bytes', () => {
      mostMb = Math.max(mostMb, rssMb())
    })
    await sink.has(2 * wanted)
    assert.ok(mostMb - restMb < 16, `grew by ${mostMb - restMb} MB`)
  })
})

describe('the hanging address', () => {
  it('neither takes nor refuses a connect, and refuses after its end', async () => {
    const hanging = await hangingAddress(ports)
    const late = connect(hanging.address)
    const heard: string[] = []
    for (const event of ['connect', 'error', 'timeout']) late.on(event, () => heard.push(event))
    late.setTimeout(300)
    await once(late, 'timeout')
    assert.deepEqual(heard, ['timeout'])
    late.destroy()
    await hanging.stop()
    assert.equal(await ear(connect(hanging.address)).closed, 'ECONNREFUSED')
  })
})
