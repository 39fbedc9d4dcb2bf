/** Built-in file types, documents in config/file-types. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

/** The plain JSON format: it is implemented in code, has no document and cannot be replaced. */
export const PLAIN_JSON = 'json'

/** The relative path is the same from src and from dist/src. */
const FOLDER = fileURLToPath(new URL('../../config/file-types/', import.meta.url))

let read: ReadonlyMap<string, unknown> | undefined

/** Documents by file type name, in the order of the names. Read once; the build writes JSON too. */
export function builtInFileTypes(): ReadonlyMap<string, unknown> {
  read ??= readFolder(FOLDER)
  return read
}

function readFolder(folder: string): ReadonlyMap<string, unknown> {
  const documents = new Map<string, unknown>()
  const files = new Set(readdirSync(folder))
  for (const file of [...files].sort()) {
    if (!file.endsWith('.yaml')) continue
    const name = file.slice(0, -'.yaml'.length)
    const isBuilt = files.has(`${name}.json`)
    const text = readFileSync(join(folder, isBuilt ? `${name}.json` : file), 'utf8')
    // JSON is read faster than YAML, at each start.
    documents.set(name, isBuilt ? JSON.parse(text) : parse(text))
  }
  return documents
}
