/** Built-in file types, documents in config/file-types. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

/** The plain JSON format: it is implemented in code, has no document and cannot be replaced. */
export const PLAIN_JSON = 'json'

/** The relative path is the same from src and from dist/src. */
const FOLDER = fileURLToPath(new URL('../../config/file-types/', import.meta.url))

let read: ReadonlyMap<string, unknown> | undefined

/** Documents by file type name, in the order of the names. Read once. */
export function builtInFileTypes(): ReadonlyMap<string, unknown> {
  read ??= readFolder(FOLDER)
  return read
}

function readFolder(folder: string): ReadonlyMap<string, unknown> {
  const documents = new Map<string, unknown>()
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'))
  for (const file of files.sort()) {
    const name = file.slice(0, -'.yaml'.length)
    documents.set(name, readDocument(join(folder, name)))
  }
  return documents
}

/** The build adds JSON, which takes a fraction of the time of YAML at each start of a process. */
function readDocument(path: string): unknown {
  const built = `${path}.json`
  if (existsSync(built)) return JSON.parse(readFileSync(built, 'utf8'))
  return parse(readFileSync(`${path}.yaml`, 'utf8'))
}
