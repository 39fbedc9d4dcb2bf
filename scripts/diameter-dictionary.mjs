// Extracts the AVP dictionary from the package `diameter`, a dependency for building and testing
// only: its own dependencies are outdated, and nothing of it runs in the product.
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

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

/** Writes the file unless it already has this text. */
export function writeDictionary(root) {
  const file = join(root, DICTIONARY_FILE)
  const text = extractDictionary()
  let present = ''
  try {
    present = readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  if (present !== text) writeFileSync(file, text)
}
