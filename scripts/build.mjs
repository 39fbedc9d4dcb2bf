// Bundles the product and the benchmarks into dist, copies the Lua scripts and the configuration
// next to them, and builds the pages for browsers. Types are not checked: `npm run check` does that.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { bundleProduct } from './bundle.mjs'
import { buildApiPage, buildConsole } from './console.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

for (const folder of ['src', 'bench', 'config']) {
  rmSync(join(root, 'dist', folder), { recursive: true, force: true })
}
cpSync(join(root, 'src/ledger/lua'), join(root, 'dist/src/ledger/lua'), { recursive: true })
cpSync(join(root, 'config'), join(root, 'dist/config'), { recursive: true })
// JSON is read faster than YAML, by each process.
for (const file of [
  'default.yaml',
  ...readdirSync(join(root, 'config/file-types')).map((name) => `file-types/${name}`),
]) {
  if (!file.endsWith('.yaml')) continue
  const document = parse(readFileSync(join(root, 'config', file), 'utf8'))
  writeFileSync(join(root, 'dist/config', file.replace(/yaml$/, 'json')), JSON.stringify(document))
}
// The image is built without the benchmarks.
await Promise.all([
  bundleProduct({ benchmarks: existsSync(join(root, 'bench')) }),
  buildConsole(),
  buildApiPage(),
])
