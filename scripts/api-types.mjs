// Types of the API for the console, generated from its OpenAPI document (after a build). They are
// made only when the document has changed: that takes seconds.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import openapiTS, { astToString } from 'openapi-typescript'

const dist = join(dirname(dirname(fileURLToPath(import.meta.url))), 'dist')
const file = join(dist, 'api-types.d.ts')

const { DEFINITIONS } = await import(join(dist, 'src/admin/entities/definitions/collections.js'))
const { openApiDocument } = await import(join(dist, 'src/admin/entities/openapi/document.js'))
const options = { fields: new Map(), version: '', baseUrl: 'http://127.0.0.1' }
const text = JSON.stringify(openApiDocument(DEFINITIONS, options))
const mark = `// ${createHash('sha256').update(text).digest('hex')}\n`
if (!existsSync(file) || !readFileSync(file, 'utf8').startsWith(mark)) {
  writeFileSync(file, mark + astToString(await openapiTS(JSON.parse(text))))
}
