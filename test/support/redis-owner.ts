import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { findRedis } from '../../src/embedded/redis/find.ts'

const source = join(dirname(fileURLToPath(import.meta.url)), '../../src/embedded')

const PROGRAM = `
import { startRedis } from './redis.js'
import { runDirFor } from './run-dir.js'
const [dataDir, program] = [process.argv[2], JSON.parse(process.argv[3])]
const log = { info() {}, warn() {}, error() {} }
const runDir = runDirFor(dataDir)
const redis = await startRedis({ dataDir, runDir, appendfsync: 'always', log, program })
process.stdout.write(JSON.stringify({ pid: redis.pid, socketPath: redis.socketPath }) + '\\n')
process.stdin.once('data', () => process.exit(0))
`

export type RedisOwner = {
  readonly process: ChildProcess
  readonly redisPid: number
  readonly socketPath: string
  /** Ends the owner by `process.exit`, without closing Redis. */
  exit(): void
}

/**
 * A separate process that starts an embedded Redis, to be ended in ways in which a test cannot end
 * itself. Compiled from these sources, so that no build is needed.
 */
export async function startRedisOwner(folder: string, dataDir: string): Promise<RedisOwner> {
  compile(folder)
  // Resolved here: the compiled copy lies outside the source tree, where setup unpacks Redis.
  const program = JSON.stringify(await findRedis(dataDir))
  const child = spawn(process.execPath, [join(folder, 'owner.mjs'), dataDir, program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (bytes: Buffer) => resolve(bytes.toString('utf8')))
    child.once('exit', (code) => reject(new Error(`the owner ended at start with code ${code}`)))
  })
  const { pid, socketPath } = JSON.parse(line) as { pid: number; socketPath: string }
  const exit = () => {
    child.stdin.write('exit\n')
  }
  return { process: child, redisPid: pid, socketPath, exit }
}

/** The files it uses of other modules: none that imports a package. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  '../runtime': ['clock.ts', 'file-modes.ts'],
  '../config': ['environment.ts', 'tree.ts'],
}

function compile(folder: string): void {
  for (const part of ['.', 'redis', ...Object.keys(OTHERS)]) {
    mkdirSync(join(folder, part), { recursive: true })
    for (const name of OTHERS[part] ?? readdirSync(join(source, part))) {
      if (!name.endsWith('.ts')) continue
      const { outputText } = ts.transpileModule(readFileSync(join(source, part, name), 'utf8'), {
        compilerOptions: {
          target: ts.ScriptTarget.ES2023,
          module: ts.ModuleKind.ESNext,
          rewriteRelativeImportExtensions: true,
        },
      })
      writeFileSync(join(folder, part, name.replace(/\.ts$/, '.js')), outputText)
    }
  }
  writeFileSync(join(folder, 'owner.mjs'), PROGRAM)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
}
