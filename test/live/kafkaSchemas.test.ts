import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { openCache } from '../../rig/cache.ts'
import { kafkaJars, kafkaVersion } from '../../rig/versions.ts'
import { kafkaErrors } from '../adapters/kafka/decide/kafkaErrors.ts'
import * as clusterApis from '../kafkaSchemas/clusterApis.ts'
import type { Counterpart } from '../kafkaSchemas/counterpart.ts'
import * as dataApis from '../kafkaSchemas/dataApis.ts'
import { diceOf } from '../kafkaSchemas/dice.ts'
import { interpreterOf } from '../kafkaSchemas/interpreter.ts'
import * as offsetApis from '../kafkaSchemas/offsetApis.ts'
import { parseSchema } from '../kafkaSchemas/schema.ts'
import { filesInZip } from '../kafkaSchemas/zip.ts'
import { live } from './rigFor.ts'

const valuesEach = 1_000
const seed = 20_260_101
const counterparts = [
  ...Object.values(dataApis),
  ...Object.values(clusterApis),
  ...Object.values(offsetApis),
] as Counterpart<unknown, unknown>[]

/** The setup of the live tests has started brokers, so the jars of the recipe are there. */
const jar = join(openCache().path(kafkaJars.kind, kafkaJars.pom), 'jars', `kafka-clients-${kafkaVersion}.jar`)

describe("our frames and Kafka's own schemas", live, () => {
  let files: ReturnType<typeof filesInZip>
  const textOf = (name: string) => files.get(name)?.().toString('utf8') ?? assert.fail(`${name} is not in ${jar}`)
  const schemaOf = (api: string, kind: 'Request' | 'Response') =>
    parseSchema(textOf(`common/message/${api}${kind}.json`))

  before(async () => {
    files = filesInZip(await readFile(jar))
  })

  for (const { api, question, asked, answered } of counterparts) {
    for (let version = api.min; version <= api.max; version++) {
      it(`KAFKA 2: ${api.name} ${version} says to Kafka what we ask, and to us what Kafka answers`, () => {
        const request = interpreterOf(schemaOf(api.name, 'Request'), version)
        const response = interpreterOf(schemaOf(api.name, 'Response'), version)
        assert.equal(schemaOf(api.name, 'Request').apiKey, api.key)
        const dice = diceOf(seed + version)
        for (let i = 0; i < valuesEach; i++) {
          const said = question(dice)
          const bytes = Buffer.concat(api.encode(version, said))
          assert.deepEqual(request.decode(bytes), asked(said, version), `question ${i} of seed ${seed}`)
          const value = response.random(dice)
          if (api.name === 'ApiVersions' && dice.yes()) value['ErrorCode'] = 0
          const heard = api.decode(version, response.encode(value, dice.yes()))
          assert.deepEqual(heard, answered(value, version), `answer ${i} of seed ${seed}`)
        }
      })
    }
  }

  it('KAFKA 6: the list of error numbers is that of the jar', () => {
    const inClass: string[] =
      textOf('org/apache/kafka/common/protocol/Errors.class').match(
        /(?<![A-Za-z_])[A-Z][A-Z0-9]*(_[A-Z0-9]+)*(?![A-Za-z_])/g,
      ) ?? []
    for (const name of kafkaErrors) assert.ok(inClass.includes(name), name)
  })
})
