/** Modules that scenarios load into the product, without support by the product. */
import { fileURLToPath, pathToFileURL } from 'node:url'

export type Preload = 'slow-commits' | 'loop-delay' | 'profile'

/** NODE_OPTIONS that load it in every thread. Works only in the compiled benchmark. */
export function optionsFor(preload: Preload): string {
  const file = fileURLToPath(new URL(`./${preload}.js`, import.meta.url))
  return `--import ${pathToFileURL(file).href}`
}
