import { importsOf, isCode, packageOf } from './imports.ts'
import type { Breach, Source } from './tree.ts'

/** Each library and where it may be imported (DESIGN §2, §10; KAFKA-CLIENT W-1, W-2). A new one gets its row here. */
const homes: [library: RegExp, home: RegExp, where: string][] = [
  [/^(kafkajs|@node-rs\/crc32|lz4-napi|snappy)$/, /^engine\/adapters\/kafka\//, 'engine/adapters/kafka/'],
  [/^node-zookeeper-client$/, /^engine\/adapters\/zookeeper\//, 'engine/adapters/zookeeper/'],
  [/^kerberos$/, /^engine\/adapters\/kerberos\//, 'engine/adapters/kerberos/'],
  [/^(@aws-sdk\/.*|aws-msk-iam-sasl-signer-js)$/, /^engine\/adapters\/aws\//, 'engine/adapters/aws/'],
  [/^(aws-cdk-lib|constructs)$/, /^infra\//, 'infra/'],
  [/^(pino|prom-client|yaml)$/, /^engine\/process\//, 'engine/process/'],
  [/^fastify$/, /^engine\/api\//, 'engine/api/'],
  [/^commander$/, /^cli\//, 'cli/'],
  [/^zod$/, /^engine\/(process\/|api\/|.*\/spec\.ts$)/, 'spec.ts files, engine/process/ and engine/api/'],
  [/^(re2js|croner)$/, /^engine\/(flow\/|.*\/decide\/)/, 'engine/flow/ and decide/'],
  [/^node:(net|tls)$/, /^engine\/(adapters|process)\//, 'engine/adapters/ and engine/process/'],
]

/** What in Node reaches outside of the process: features get it through `ports/`. */
const reachesOut =
  /^node:(fs|net|tls|http|https|http2|dgram|dns|child_process|worker_threads|cluster|timers|os|readline)(\/|$)/
const feature = /^engine\/(mirror|job|function|fleet|credentials|logs|api)\//

/** A library imported outside of its folder, or one that has no folder yet. test/, bench/ and rig/ import anything. */
export function libraryBreaches(sources: Source[]): Breach[] {
  const breaches: Breach[] = []
  for (const source of sources) {
    if (!isCode(source.path) || /^(test|bench|rig)\//.test(source.path)) continue
    for (const one of importsOf(source)) {
      if (one.to !== null) continue
      const says = faultOf(source.path, one.specifier)
      if (says !== null) breaches.push({ path: source.path, line: one.line, says })
    }
  }
  return breaches
}

function faultOf(path: string, specifier: string): string | null {
  if (/^kafkajs\//.test(specifier)) return `imports ${specifier}: no deep import of kafkajs anywhere (W-1)`
  const name = specifier.startsWith('node:') ? specifier : packageOf(specifier)
  const row = homes.find(([library]) => library.test(name))
  if (row !== undefined) return row[1].test(path) ? null : `imports ${name}: allowed in ${row[2]} only`
  if (!name.startsWith('node:')) return `imports ${name}: this library has no folder yet (test/tidy/libraries.ts)`
  if (feature.test(path) && reachesOut.test(name))
    return `imports ${name}: a feature reaches outside through ports/ only`
  return null
}
