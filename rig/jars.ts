import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startChild } from './child.ts'
import { RigError } from './errors.ts'
import { countAgainMs, downloadMs } from './limits.ts'
import type { RigContext } from './part.ts'
import { findTool } from './tools.ts'
import type { JarRecipe } from './versions.ts'

/** The jars of a recipe on this machine: `folder` in the cache, `classPath` the sorted list that a class archive needs. */
export type Jars = { folder: string; classPath: string }

/**
 * The jars, downloaded by Maven if the cache lacks them. Rejects with `rig-download` (Maven's last lines),
 * `rig-tool-missing` or `rig-cache`; no half folder stays behind.
 */
export async function jarsOf(recipe: JarRecipe, ctx: RigContext): Promise<Jars> {
  const folder = ctx.cache.path(recipe.kind, recipe.pom)
  await ctx.cache.make(folder, ctx.guard, temporary => download(recipe, temporary, ctx))
  const jars = await jarNames(join(folder, 'jars'))
  // the archive belongs to one explicit list in one order, so no `*`.
  return { folder, classPath: jars.map(name => join(folder, 'jars', name)).join(':') }
}

async function jarNames(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter(name => name.endsWith('.jar')).sort()
}

async function download(recipe: JarRecipe, temporary: string, ctx: RigContext): Promise<string> {
  const mvn = await findTool('mvn')
  const folder = join(temporary, recipe.kind)
  const jars = join(folder, 'jars')
  await mkdir(jars, { recursive: true })
  const pom = join(folder, 'pom.xml')
  await writeFile(pom, recipe.pom)
  const name = `${ctx.name}.maven`
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${jars}`]
  const child = await startChild({ name, command: mvn.path, args: ['-q', '-B', '-f', pom, ...goal] }, ctx)
  // `-q` says nothing on its way: the progress is what lies in the folder.
  const counting = setInterval(async () => {
    ctx.progress(`${recipe.kind} jars ${(await jarNames(jars)).length}/${recipe.jarsCount}`)
  }, countAgainMs)
  const late = setTimeout(() => void child.kill(), downloadMs)
  const { code } = await child.exited
  clearInterval(counting)
  clearTimeout(late)
  ctx.signal.throwIfAborted()
  if (code === 0 && (await jarNames(jars)).length > 0) return folder
  throw new RigError('rig-download', `Maven could not bring the jars of ${recipe.kind} (exit ${code})`, {
    part: ctx.name,
    hint: 'is the network there, and the mirror set in settings.xml of Maven? An earlier download works offline.',
    lines: child.tail().slice(-20),
  })
}
