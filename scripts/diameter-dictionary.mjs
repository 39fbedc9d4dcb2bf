// Extracts the dictionary of AVPs from the package `diameter`, which is there for building and testing
// only: what it depends on at run time is old, and nothing of it runs in the product.
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** Where the product reads it, in the source tree; the build copies `config`. */
export const DICTIONARY_FILE = 'config/diameter-dictionary.json'

/** The text of that file: an array with one AVP a line, of it what the codecs read. */
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

/** Writes it if it is not there already, word for word. */
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
