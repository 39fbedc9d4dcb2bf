// Extracts the AVP dictionary from the package `diameter`, a dependency of tests only: its own
// dependencies are outdated, and nothing of it runs in the product. A test compares the result with
// the file; after an update of the package, `node scripts/diameter-dictionary.mjs` writes it.
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** Location in the source tree, where the product reads it; the build copies `config`. */
export const DICTIONARY_FILE = 'config/diameter-dictionary.json'

/** The text of that file: an array with one AVP per line and the fields that the codecs read. */
export function extractDictionary() {
  const path = createRequire(import.meta.url).resolve('diameter/dictionary.json')
  const { avps } = JSON.parse(readFileSync(path, 'utf8'))
  const lines = avps.map(({ code, name, vendorId, type, flags, enums }) => {
    const { mandatory } = flags ?? {}
    const kept = flags === undefined ? {} : { flags: { mandatory } }
    return JSON.stringify({ code, name, vendorId, type, ...kept, enums })
  })
  return `[\n${lines.join(',\n')}\n]\n`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(new URL(`../${DICTIONARY_FILE}`, import.meta.url), extractDictionary())
}
