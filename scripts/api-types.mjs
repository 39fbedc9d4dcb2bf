// Types of the API for the console, generated from its OpenAPI document. They are made only when
// the document has changed: that takes seconds.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import openapiTS, { astToString } from 'openapi-typescript'
import { bundleModule } from './bundle.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const file = join(root, 'dist/api-types.d.ts')

const built = join(root, `dist/api-document-${process.pid}.mjs`)
await bundleModule(join(root, 'scripts/api-document.ts'), built)
const { DOCUMENT } = await import(built)
rmSync(built)
const text = JSON.stringify(DOCUMENT)
const mark = `// ${createHash('sha256').update(text).digest('hex')}\n`
if (!existsSync(file) || !readFileSync(file, 'utf8').startsWith(mark)) {
  writeFileSync(file, mark + astToString(await openapiTS(JSON.parse(text))))
}
