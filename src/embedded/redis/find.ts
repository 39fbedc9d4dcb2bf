import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { systemEnvironment } from '../../config/environment.ts'
import { findTree } from '../../config/tree.ts'

const run = promisify(execFile)

/** Oldest Redis version with the commands and stream behaviour that the ledger needs. */
const VERSION_MIN = [6, 2] as const

/** How to run a redis-server. */
export type RedisProgram = {
  /** Absolute path, or a name to look up on the PATH. */
  readonly command: string
  readonly version: string
  /** Folders for LD_LIBRARY_PATH if the server was unpacked instead of installed. */
  readonly libraryPath: string | undefined
}

/** No usable redis-server; the message names the locations that were tried and the remedy. */
export class RedisMissingError extends Error {
  override readonly name = 'RedisMissingError'
}

/**
 * Finds a redis-server of version 6.2 or later: on the PATH, otherwise one that
 * `scripts/provide-redis.mjs` unpacked in the given data folder, otherwise in the data folder of
 * this source tree.
 * @param onPath name to look up on the PATH
 * @throws RedisMissingError with the result for each location
 */
export async function findRedis(
  dataDir: string,
  onPath = 'redis-server',
  treeDir = findTree(),
): Promise<RedisProgram> {
  const folders = new Set([resolve(dataDir, 'redis'), join(treeDir, 'data', 'redis')])
  const failures: string[] = []
  for (const location of [undefined, ...folders]) {
    const found = location === undefined ? await tryOnPath(onPath) : await tryUnpacked(location)
    if (typeof found !== 'string') return found
    failures.push(found)
  }
  throw new RedisMissingError(
    `no redis-server >= ${VERSION_MIN.join('.')} (${failures.join('; ')}): ` +
      `run 'node ${scriptIn(treeDir)} ${resolve(dataDir, 'redis')}', or install Redis`,
  )
}

/** Where this tree has the script that unpacks redis-server. */
const scriptIn = (treeDir: string) => join(treeDir, 'scripts/provide-redis.mjs')

/**
 * `findRedis`; a missing redis-server is first unpacked into the data folder, where this tree has
 * the script for it.
 * @param say receives what the script reports, line by line
 * @throws RedisMissingError with the reason of the script
 */
export async function findOrProvideRedis(
  dataDir: string,
  say: (line: string) => void,
  onPath?: string,
  treeDir = findTree(),
): Promise<RedisProgram> {
  try {
    return await findRedis(dataDir, onPath, treeDir)
  } catch (error) {
    const script = scriptIn(treeDir)
    if (!(error instanceof RedisMissingError) || !existsSync(script)) throw error
    await provide(script, resolve(dataDir, 'redis'), say)
    return findRedis(dataDir, onPath, treeDir)
  }
}

async function provide(script: string, folder: string, say: (line: string) => void): Promise<void> {
  // Without the secrets of this process; proxies are those that apt is configured for.
  const child = spawn(process.execPath, [script, folder], { env: systemEnvironment() })
  child.stdin.end()
  createInterface(child.stdout).on('line', say)
  let problem = ''
  child.stderr.on('data', (bytes: Buffer) => {
    problem += bytes.toString()
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new RedisMissingError(problem.trim())
}

async function tryOnPath(command: string): Promise<RedisProgram | string> {
  return checkVersion({ command, libraryPath: undefined }, `${command} on the PATH`)
}

/** The contract with scripts/provide-redis.mjs: `redis.json` names the server and its libraries. */
async function tryUnpacked(folder: string): Promise<RedisProgram | string> {
  const path = join(folder, 'redis.json')
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return `${path}: not found`
  const { server, libraryPath } = parseRecord(text)
  if (server === undefined || libraryPath === undefined) return `${path}: invalid contents`
  const libraries = libraryPath.map((name) => join(folder, name)).join(delimiter) || undefined
  return checkVersion({ command: join(folder, server), libraryPath: libraries }, path)
}

type SetupRecord = { server: string | undefined; libraryPath: string[] | undefined }

function parseRecord(text: string): SetupRecord {
  let found: { server?: unknown; libraryPath?: unknown } | null
  try {
    found = JSON.parse(text)
  } catch {
    found = null
  }
  const libraries = found?.libraryPath
  return {
    server: typeof found?.server === 'string' ? found.server : undefined,
    libraryPath: Array.isArray(libraries) ? libraries.map(String) : undefined,
  }
}

async function checkVersion(
  program: Omit<RedisProgram, 'version'>,
  location: string,
): Promise<RedisProgram | string> {
  let version: string
  try {
    const { stdout } = await run(program.command, ['--version'], environmentFor(program))
    version = /\bv=(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? ''
  } catch (error) {
    return `${location}: ${firstLine(error)}`
  }
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isRecent = major > VERSION_MIN[0] || (major === VERSION_MIN[0] && minor >= VERSION_MIN[1])
  return isRecent ? { ...program, version } : `${location}: version ${version || 'unknown'}`
}

/**
 * Spawn options for a program, without the secrets of this process; an unpacked program needs the
 * path of its libraries.
 */
export function environmentFor(program: Pick<RedisProgram, 'libraryPath'>): {
  env: NodeJS.ProcessEnv
} {
  const { libraryPath } = program
  const libraries = libraryPath === undefined ? {} : { LD_LIBRARY_PATH: libraryPath }
  return { env: { ...systemEnvironment(), ...libraries } }
}

function firstLine(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'ENOENT' ? 'not found' : (message.split('\n')[1] ?? message)
}
