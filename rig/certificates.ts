/** Certificates for one run, made by `openssl` in the run folder; no keytool, nothing trusted by the machine. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findTool } from './tools.ts'

/** One identity: a file that Kafka takes as a PEM key store and Node as both `key` and `cert`. */
export interface Identity {
  /** Path of the PEM file: PKCS#8 key, then its certificate, then the authority's. */
  pem: string
}

export interface Certificates {
  /** Path of the authority's certificate alone: the trust store of both sides. */
  authority: string
  /** Good for `localhost` and 127.0.0.1. */
  server: Identity
  /** For a listener that asks for a client's certificate: `CN=millrace`. */
  client: Identity
  /** As `server`, but its one day was the first of 2020. */
  expired: Identity
  /** In date, but for `elsewhere.invalid` only. */
  wrongHost: Identity
}

interface Wish {
  name: string
  commonName: string
  section: 'here' | 'person' | 'elsewhere'
  validity: string[]
}

const oneDay = ['-days', '1']
const dayLongGone = ['-startdate', '20200101000000Z', '-enddate', '20200102000000Z']

/**
 * `openssl ca` rather than `openssl x509 -req`: only it can date a certificate into the past with every version that
 * is still about. The configuration is our own whole, because the system's may be missing or say anything.
 */
function configuration(dir: string): string {
  return `[req]
distinguished_name = name
prompt = no
[name]
CN = millrace rig
[ca]
default_ca = rig
[rig]
database = ${dir}/index.txt
new_certs_dir = ${dir}
certificate = ${dir}/authority.crt
private_key = ${dir}/authority.key
default_md = sha256
policy = any
unique_subject = no
rand_serial = yes
[any]
commonName = supplied
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[here]
basicConstraints = CA:FALSE
subjectAltName = DNS:localhost, IP:127.0.0.1
extendedKeyUsage = serverAuth, clientAuth
[person]
basicConstraints = CA:FALSE
extendedKeyUsage = clientAuth
[elsewhere]
basicConstraints = CA:FALSE
subjectAltName = DNS:elsewhere.invalid
extendedKeyUsage = serverAuth, clientAuth
`
}

/**
 * Makes one P-256 authority and four identities in `dir` (made when it is not there, mode 0700). Takes ≈ 0.1 s. Rejects with
 * `rig-tool-missing` without openssl.
 */
export async function makeCertificates(dir: string): Promise<Certificates> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  await writeFile(join(dir, 'openssl.cnf'), configuration(dir))
  await writeFile(join(dir, 'index.txt'), '')
  await newKey(dir, 'authority')
  const authority = join(dir, 'authority.crt')
  const self = ['-x509', '-new', '-key', join(dir, 'authority.key'), '-out', authority, ...oneDay]
  await openssl(['req', '-config', join(dir, 'openssl.cnf'), '-extensions', 'authority', ...self])
  // One after another: `openssl ca` keeps a register, and two at once would lose a line of it.
  return {
    authority,
    server: await issue(dir, { name: 'server', commonName: 'localhost', section: 'here', validity: oneDay }),
    client: await issue(dir, { name: 'client', commonName: 'millrace', section: 'person', validity: oneDay }),
    expired: await issue(dir, { name: 'expired', commonName: 'localhost', section: 'here', validity: dayLongGone }),
    wrongHost: await issue(dir, {
      name: 'wrong-host',
      commonName: 'elsewhere.invalid',
      section: 'elsewhere',
      validity: oneDay,
    }),
  }
}

async function issue(dir: string, wish: Wish): Promise<Identity> {
  const file = (ending: string) => join(dir, `${wish.name}.${ending}`)
  await newKey(dir, wish.name)
  const config = ['-config', join(dir, 'openssl.cnf')]
  const subject = ['-subj', `/CN=${wish.commonName}`]
  await openssl(['req', '-new', ...config, '-key', file('key'), ...subject, '-out', file('csr')])
  const request = ['-in', file('csr'), '-out', file('crt'), '-extensions', wish.section]
  await openssl(['ca', '-batch', '-notext', ...config, ...request, ...wish.validity])
  const parts = [file('key'), file('crt'), join(dir, 'authority.crt')].map(path => readFile(path, 'utf8'))
  await writeFile(file('pem'), (await Promise.all(parts)).join(''), { mode: 0o600 })
  return { pem: file('pem') }
}

/** `genpkey` writes PKCS#8, the only form that Kafka reads; `ecparam -genkey` does not. */
async function newKey(dir: string, name: string): Promise<void> {
  const curve = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-pkeyopt', 'ec_param_enc:named_curve']
  await openssl(['genpkey', ...curve, '-out', join(dir, `${name}.key`)])
}

async function openssl(args: string[]): Promise<void> {
  const { path } = await findTool('openssl')
  await promisify(execFile)(path, args)
}
