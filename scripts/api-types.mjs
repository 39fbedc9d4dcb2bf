// Types of the APIs for the client and the console, generated from the OpenAPI documents. They are
// made only when a document has changed: that takes seconds.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import openapiTS, { astToString } from 'openapi-typescript'
import { bundleModule } from './bundle.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = join(root, 'packages/client/dist')
/** A type that refers to itself by way of a list needs a name: as a member it would be `any`. */
const JSON_LIST = 'components["schemas"]["jsonValue"][]'

const built = join(root, `dist/api-document-${process.pid}.mjs`)
await bundleModule(join(root, 'scripts/api-document.ts'), built)
const { DOCUMENTS } = await import(built)
rmSync(built)
mkdirSync(folder, { recursive: true })
for (const [name, document] of Object.entries(DOCUMENTS)) {
  const text = JSON.stringify(document)
  const file = join(folder, `${name}.d.ts`)
  const mark = `// ${createHash('sha256').update(text).digest('hex')}\n`
  if (existsSync(file) && readFileSync(file, 'utf8').startsWith(mark)) continue
  const types = astToString(await openapiTS(JSON.parse(text)))
  const named = types.replace(`jsonList: ${JSON_LIST}`, 'jsonList: JsonList')
  // Others may read it, or write the same.
  writeFileSync(`${file}.${process.pid}`, `${mark}${named}type JsonList = ${JSON_LIST};\n`)
  renameSync(`${file}.${process.pid}`, file)
}
