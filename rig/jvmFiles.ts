/**
 * What a JVM lays beside its data, native libraries and the figures for `jps`, goes into a folder that ends with the set:
 * a killed JVM removes nothing, and a hundred starts would leave a hundred libraries in the temporary folder.
 */
export function jvmFiles(folder: string): string[] {
  return ['-XX:-UsePerfData', `-Djava.io.tmpdir=${folder}`]
}
