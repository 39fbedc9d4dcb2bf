/** Bundles modules that Node runs as a process or a thread of a test. */
import { renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { HOUSE } from '../house/tree.ts'

interface Bundler {
  bundleModule(module: string, file: string): Promise<void>
}

const { bundleModule }: Bundler = await import(
  pathToFileURL(join(HOUSE, 'scripts/bundle.mjs')).href
)

/** Returns the file of a module, given by its path from the root, with its imports from src. */
export async function bundled(module: string): Promise<URL> {
  const name = basename(module).replace(/\.\w+$/, '')
  const file = join(HOUSE, 'dist/test', `${name}.mjs`)
  // Another test may load the file meanwhile.
  const fresh = `${file}.${process.pid}`
  await bundleModule(join(HOUSE, module), fresh)
  renameSync(fresh, file)
  return pathToFileURL(file)
}
