// Compiles src and bench into dist, and the packages into their own dist, copies the Lua scripts, the default configuration and the
// Diameter dictionary next to them, bundles packages, and builds the console.
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { bundlePackages } from './bundle-packages.mjs'
import { buildConsole } from './console.mjs'
import { writeDictionary } from './diameter-dictionary.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')

writeDictionary(root)
if (process.argv.includes('--clean')) {
  for (const folder of ['dist', 'packages/embedded-mongo/dist']) {
    rmSync(join(root, folder), { recursive: true, force: true })
  }
}
const built = spawnSync(process.execPath, [tsc, '-b', join(root, 'tsconfig.build.json')], {
  stdio: 'inherit',
})
if (built.status !== 0) process.exit(built.status ?? 1)
cpSync(join(root, 'src/ledger/lua'), join(root, 'dist/src/ledger/lua'), { recursive: true })
cpSync(join(root, 'config'), join(root, 'dist/config'), { recursive: true })
// JSON is read faster than YAML, by each process.
const defaults = parse(readFileSync(join(root, 'config/default.yaml'), 'utf8'))
writeFileSync(join(root, 'dist/config/default.json'), JSON.stringify(defaults))
await Promise.all([bundlePackages(), buildConsole()])
