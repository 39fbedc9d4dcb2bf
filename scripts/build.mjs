// Compiles src and bench into dist, and copies the Lua scripts, the default configuration and the
// Diameter dictionary next to them.
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeDictionary } from './diameter-dictionary.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')

writeDictionary(root)
if (process.argv.includes('--clean')) rmSync(join(root, 'dist'), { recursive: true, force: true })
const built = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], {
  stdio: 'inherit',
})
if (built.status !== 0) process.exit(built.status ?? 1)
cpSync(join(root, 'src/ledger/lua'), join(root, 'dist/src/ledger/lua'), { recursive: true })
cpSync(join(root, 'config'), join(root, 'dist/config'), { recursive: true })
