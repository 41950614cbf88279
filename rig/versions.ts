/** Every version of the rig. Nothing else names one; `compose.yaml` and the docs are compared with this. */
export const kafkaVersion = '4.3.1'
export const zookeeperVersion = '3.9.5'

/** What the tools must at least be. */
export const javaVersionMin = 17
export const mavenVersionMin = '3.8'

/** For people with a container engine. Later images of localstack want a token. */
export const images = {
  kafka: `apache/kafka:${kafkaVersion}`,
  zookeeper: `zookeeper:${zookeeperVersion}`,
  localstack: 'localstack/localstack:4.14.0',
}

export type JarKind = 'kafka' | 'zookeeper'

/** A folder of jars: the text of its pom is the recipe that names the cache folder. */
export type JarRecipe = { kind: JarKind; pom: string; jarsCount: number }

type Artifact = [group: string, artifact: string, version: string]

function pom(kind: JarKind, artifacts: Artifact[]): string {
  const dependencies = artifacts.map(
    ([group, artifact, version]) =>
      `    <dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`,
  )
  return [
    '<project xmlns="http://maven.apache.org/POM/4.0.0">',
    '  <modelVersion>4.0.0</modelVersion>',
    `  <groupId>rig</groupId><artifactId>${kind}</artifactId><version>1</version><packaging>pom</packaging>`,
    '  <dependencies>',
    ...dependencies,
    '  </dependencies>',
    '</project>',
    '',
  ].join('\n')
}

/** `connect-*` are MirrorMaker 2, for the benchmark. `slf4j-simple` is of the line that Kafka itself pulls. */
export const kafkaJars: JarRecipe = {
  kind: 'kafka',
  pom: pom('kafka', [
    ...['kafka_2.13', 'kafka-tools', 'connect-mirror', 'connect-mirror-client', 'connect-runtime'].map(
      (artifact): Artifact => ['org.apache.kafka', artifact, kafkaVersion],
    ),
    ['org.slf4j', 'slf4j-simple', '1.7.36'],
  ]),
  jarsCount: 94,
}

/** ZooKeeper pulls neither metrics-core nor snappy-java, and its server dies at the start without them. */
export const zookeeperJars: JarRecipe = {
  kind: 'zookeeper',
  pom: pom('zookeeper', [
    ['org.apache.zookeeper', 'zookeeper', zookeeperVersion],
    ['io.dropwizard.metrics', 'metrics-core', '4.2.25'],
    ['org.xerial.snappy', 'snappy-java', '1.1.10.5'],
    ['org.slf4j', 'slf4j-simple', '2.0.13'],
  ]),
  jarsCount: 24,
}
