/** What is loaded into the product by scenarios; the product knows nothing of it. */
import { fileURLToPath, pathToFileURL } from 'node:url'

export type Preload = 'slow-commits' | 'loop-delay' | 'profile'

/** NODE_OPTIONS that load it in every thread. Only of the compiled benchmark. */
export function optionsFor(preload: Preload): string {
  const file = fileURLToPath(new URL(`./${preload}.js`, import.meta.url))
  return `--import ${pathToFileURL(file).href}`
}
