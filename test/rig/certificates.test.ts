import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { type Certificates, type Identity, makeCertificates } from '../../rig/certificates.ts'

describe('the certificates of a run', () => {
  let dir: string
  let made: Certificates
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'millrace-certificates-'))
    made = await makeCertificates(join(dir, 'run'))
  })
  after(() => rmSync(dir, { recursive: true }))

  const text = (path: string) => readFileSync(path, 'utf8')

  /**
   * A server with that identity, and a client that trusts the authority: what the client, or else the server, says
   * against it; 'ok <who the client is>' when both are content.
   */
  async function handshake(server: Identity, more: { byNumber?: boolean; client?: Identity; demand?: boolean } = {}) {
    const { promise, resolve } = Promise.withResolvers<string>()
    const pem = text(server.pem)
    const ca = text(made.authority)
    const open = createServer({ key: pem, cert: pem, ca, requestCert: more.demand, rejectUnauthorized: more.demand })
    open.on('tlsClientError', error => resolve(`server: ${(error as NodeJS.ErrnoException).code}`))
    open.on('secureConnection', (socket: TLSSocket) => {
      socket.on('error', () => {})
      socket.end(`ok ${socket.getPeerCertificate().subject?.CN ?? 'nobody'}`)
    })
    await new Promise<void>(listening => open.listen(0, '127.0.0.1', listening))
    const { port } = open.address() as AddressInfo
    const identity = more.client ? { key: text(more.client.pem), cert: text(more.client.pem) } : {}
    // By the name, unless by the number alone; never through a look-up, which may say ::1.
    const servername = more.byNumber ? undefined : 'localhost'
    const socket = connect({ host: '127.0.0.1', port, ca, servername, ...identity })
    socket.setEncoding('utf8')
    socket.on('data', resolve)
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (!more.demand) resolve(`client: ${error.code}`)
    })
    const said = await promise
    socket.destroy()
    await new Promise(closed => open.close(closed))
    return said
  }

  it('are good for localhost and for 127.0.0.1', async () => {
    assert.equal(await handshake(made.server), 'ok nobody')
    assert.equal(await handshake(made.server, { byNumber: true }), 'ok nobody')
  })

  it('let a client prove who it is, and keep out one that cannot', async () => {
    assert.equal(await handshake(made.server, { demand: true, client: made.client }), 'ok millrace')
    assert.equal(await handshake(made.server, { demand: true }), 'server: ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE')
    assert.match(await handshake(made.server, { demand: true, client: made.expired }), /^server: /)
  })

  it('have one that has expired', async () => {
    assert.equal(await handshake(made.expired), 'client: CERT_HAS_EXPIRED')
  })

  it('have one for another host', async () => {
    assert.equal(await handshake(made.wrongHost), 'client: ERR_TLS_CERT_ALTNAME_INVALID')
  })

  it('are a PKCS#8 key, the certificate and the authority, for the owner alone', () => {
    for (const { pem } of [made.server, made.client, made.expired, made.wrongHost]) {
      const blocks = text(pem).match(/-----BEGIN [A-Z ]+-----[^-]+-----END [A-Z ]+-----/g) ?? []
      assert.equal(blocks.length, 3)
      assert.match(blocks[0] ?? '', /BEGIN PRIVATE KEY/)
      const [own, authority] = blocks.slice(1).map(block => new X509Certificate(block))
      assert.ok(own && authority)
      assert.ok(own.verify(authority.publicKey))
      assert.equal(authority.ca, true)
      assert.equal(own.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
      assert.equal(statSync(pem).mode & 0o777, 0o600)
    }
  })

  it('last one day', () => {
    const { validFromDate, validToDate } = new X509Certificate(text(made.server.pem).split('KEY-----\n').at(-1) ?? '')
    assert.equal(validToDate.getTime() - validFromDate.getTime(), 24 * 60 * 60 * 1_000)
  })
})
