import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { hashOf } from '../../rig/cache.ts'
import { images, javaVersionMin, kafkaJars, kafkaVersion, zookeeperJars, zookeeperVersion } from '../../rig/versions.ts'

const textOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** `group:artifact:version` of each dependency of a pom. */
function artifactsOf(pom: string): string[] {
  const dependency =
    /<dependency><groupId>(.+?)<\/groupId><artifactId>(.+?)<\/artifactId><version>(.+?)<\/version><\/dependency>/g
  return [...pom.matchAll(dependency)].map(([, group, artifact, version]) => `${group}:${artifact}:${version}`)
}

describe('versions', () => {
  it('RIG 13: the poms name what the design names', () => {
    const kafka = ['kafka_2.13', 'kafka-tools', 'connect-mirror', 'connect-mirror-client', 'connect-runtime']
    assert.deepEqual(artifactsOf(kafkaJars.pom), [
      ...kafka.map(artifact => `org.apache.kafka:${artifact}:${kafkaVersion}`),
      'org.slf4j:slf4j-simple:1.7.36',
    ])
    assert.deepEqual(artifactsOf(zookeeperJars.pom), [
      `org.apache.zookeeper:zookeeper:${zookeeperVersion}`,
      'io.dropwizard.metrics:metrics-core:4.2.25',
      'org.xerial.snappy:snappy-java:1.1.10.5',
      'org.slf4j:slf4j-simple:2.0.13',
    ])
  })

  // A change of the text is a new folder in every cache: it is made on purpose, here too.
  it('RIG 13: the text of a pom is stable', () => {
    assert.equal(hashOf(kafkaJars.pom), '92cd52d27892c8c7')
    assert.equal(hashOf(zookeeperJars.pom), 'a35a28285831aa75')
  })

  it('RIG 13: the compose file names the images of the versions, and listens on loopback alone', () => {
    const compose = textOf('rig/compose.yaml')
    const named = [...compose.matchAll(/^\s+image: (\S+)$/gm)].map(([, image]) => image)
    assert.deepEqual(named, [images.kafka, images.kafka, images.zookeeper, images.localstack])
    const ports = [...compose.matchAll(/^\s+ports: \["(\S+?)"\]$/gm)].map(([, port]) => port)
    assert.equal(ports.length, named.length)
    for (const port of ports) assert.match(port ?? '', /^127\.0\.0\.1:\d+:\d+$/)
  })

  it('RIG 13: the documents agree', () => {
    const design = textOf('docs/design/RIG.md')
    for (const image of Object.values(images)) assert.ok(design.includes(`\`${image}\``), image)
    for (const artifact of [...artifactsOf(kafkaJars.pom).slice(-1), ...artifactsOf(zookeeperJars.pom)]) {
      assert.ok(design.includes(`\`${artifact}\``), artifact)
    }
    assert.ok(design.includes(`connect-runtime}:${kafkaVersion}\``))
    assert.ok(design.includes(`\`java\` ≥ ${javaVersionMin}`))
  })
})
