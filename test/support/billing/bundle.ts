/** Bundles a module of the tests to JavaScript that Node runs as a process of its own. */
import { join } from 'node:path'
import { rolldown } from 'rolldown'

/** Returns the path of the file, in `folder` below the project, so that packages are found. */
export async function bundled(module: string, folder: string): Promise<string> {
  const bundle = await rolldown({
    input: module,
    platform: 'node',
    external: (id) => !id.startsWith('.') && !id.startsWith('/'),
    logLevel: 'silent',
  })
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: 'child.mjs' })
  await bundle.close()
  return join(folder, 'child.mjs')
}
