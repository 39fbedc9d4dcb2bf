import { type ChildProcess, spawn } from 'node:child_process'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../runtime/log.ts'
import { FolderInUseError, type FolderLock, isLocked, lockFolder } from './folder-lock.ts'
import { type AppendFsync, LOG_FILE, redisArguments } from './redis/arguments.ts'
import { ask } from './redis/ask.ts'
import { environmentFor, findRedis, type RedisProgram } from './redis/find.ts'
import { stopOrphan } from './redis/orphan.ts'
import { closedFolder } from './run-dir.ts'

const LOCK_NAME = 'redis'
/** Names the run folder of the last start, in case the next one has another. */
const RUN_RECORD = 'redis.run'
const POLL_MS = 10
/** Polls without any answer until a start has failed. Loading a long log answers, and may last. */
const SILENT_POLLS_MAX = 1_500
const REPLY_MS = 2_000
const CLOSE_TIMEOUT_MS = 10_000
const LOG_LINES_SHOWN = 8

export type RedisExit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

export type RedisOptions = {
  /** Folder of the append-only files; created if needed. */
  readonly dataDir: string
  /** Folder of the socket, from `runDirFor`. */
  readonly runDir: string
  readonly appendfsync: AppendFsync
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Limit on memory; without it Redis takes what the machine has. */
  readonly maxmemoryBytes?: number
  /** How long `close` waits for an orderly end; ten seconds by default. */
  readonly closeTimeoutMs?: number
  /** Which redis-server to run; found by `findRedis` if not given. */
  readonly program?: RedisProgram
}

export type EmbeddedRedis = {
  /** `unix://` and the absolute path of the socket. */
  readonly url: string
  readonly socketPath: string
  readonly pid: number
  /** Ends Redis with its log on the disk; by force after `closeTimeoutMs`. May be called twice. */
  close(): Promise<void>
  /** When Redis has ended, for whatever reason, and the data folder is free again. */
  readonly exited: Promise<RedisExit>
}

/** The redis-server ended, or stayed silent, before it was ready. */
export class RedisStartError extends Error {
  override readonly name = 'RedisStartError'
}

/**
 * Runs a real redis-server on a data folder, reachable on a unix socket only, and waits until it
 * has loaded its data. A Redis that outlived a killed owner is ended first, in order.
 * @throws RedisMissingError, FolderInUseError (its owner is alive), OrphanRedisError,
 *   RedisStartError (with the last lines of its log)
 */
export async function startRedis(options: RedisOptions): Promise<EmbeddedRedis> {
  const program = options.program ?? (await findRedis(options.dataDir))
  const dataDir = resolve(options.dataDir)
  closedFolder(dataDir)
  const lock = await lockFolder(options.runDir, LOCK_NAME)
  try {
    await takeOver(dataDir, options.runDir, options.log)
    return await start({ ...options, dataDir }, program, lock)
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Makes sure that no other Redis has the data folder open. */
async function takeOver(dataDir: string, runDir: string, log: Pick<Logger, 'warn'>): Promise<void> {
  const record = join(dataDir, RUN_RECORD)
  const earlier = await readFile(record, 'utf8').catch(() => runDir)
  if (earlier !== runDir && (await isLocked(earlier, LOCK_NAME))) {
    throw new FolderInUseError(dataDir, undefined)
  }
  for (const dir of new Set([earlier, runDir])) {
    const socketPath = socketIn(dir)
    if (await stopOrphan(socketPath)) {
      log.warn({ socketPath }, 'ended a redis-server that had outlived its owner')
    }
  }
  await writeFile(record, runDir)
}

async function start(
  options: RedisOptions,
  program: RedisProgram,
  lock: FolderLock,
): Promise<EmbeddedRedis> {
  const { dataDir, log } = options
  const socketPath = socketIn(options.runDir)
  const logFile = join(dataDir, LOG_FILE)
  const logSizeBytes = await stat(logFile).then(
    (found) => found.size,
    () => 0,
  )
  // A process group of its own: Ctrl-C in a terminal reaches the whole group of the owner, and
  // Redis has to stay until the owner has drained.
  const child = spawn(program.command, redisArguments(program, { ...options, socketPath }), {
    ...environmentFor(program),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = lastOutput(child)
  const ended = endOf(child)
  const problem = await untilReady(socketPath, child)
  if (problem !== undefined) {
    child.kill('SIGKILL')
    await ended
    const lines = [said(), await textFrom(logFile, logSizeBytes)].join('\n').trim().split('\n')
    const shown = lines.slice(-LOG_LINES_SHOWN).join('\n')
    throw new RedisStartError(`${program.command} ${problem}. Its last words:\n${shown}`)
  }
  const pid = child.pid ?? 0
  log.info({ pid, version: program.version, socketPath }, 'redis-server started')
  let closing: Promise<void> | undefined
  const exited = ended.then(async (exit) => {
    await lock.release()
    if (closing === undefined) log.error({ pid, ...exit }, 'redis-server ended unasked')
    return exit
  })
  const close = () => {
    closing ??= hasEnded(child)
      ? exited.then(() => undefined)
      : stop(child, exited, { ...options, socketPath })
    return closing
  }
  return { url: `unix://${socketPath}`, socketPath, pid, close, exited }
}

/** Undefined when Redis answers with its data loaded, else what went wrong. */
async function untilReady(socketPath: string, child: ChildProcess): Promise<string | undefined> {
  for (let silent = 0; silent < SILENT_POLLS_MAX; silent++) {
    if (child.pid === undefined) return 'cannot be run'
    if (child.exitCode !== null) return `ended at start with code ${child.exitCode}`
    if (child.signalCode !== null) return `ended at start by ${child.signalCode}`
    const reply = await ask(socketPath, ['PING'], REPLY_MS).catch(() => '')
    if (reply === 'PONG') return undefined
    if (reply.startsWith('-LOADING')) silent = 0
    await delay(POLL_MS)
  }
  return 'does not answer'
}

async function stop(
  child: ChildProcess,
  exited: Promise<RedisExit>,
  options: Pick<RedisOptions, 'log' | 'closeTimeoutMs'> & { socketPath: string },
): Promise<void> {
  const waitMs = options.closeTimeoutMs ?? CLOSE_TIMEOUT_MS
  // No answer is the rule: Redis ends instead. Whether it did is seen by the process, below.
  ask(options.socketPath, ['SHUTDOWN', 'NOSAVE'], waitMs).catch(() => child.kill('SIGTERM'))
  const timer = setTimeout(() => {
    options.log.warn({ pid: child.pid, waitMs }, 'redis-server did not end: killing it')
    child.kill('SIGKILL')
  }, waitMs)
  await exited
  clearTimeout(timer)
}

/** Then the socket may already belong to the Redis started after it. */
function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

/** How the child ended. If this process ends first, in any way it notices, it ends the child. */
function endOf(child: ChildProcess): Promise<RedisExit> {
  const endWithOwner = () => child.kill('SIGTERM')
  process.once('exit', endWithOwner)
  return new Promise((done) => {
    const settle = (exit: RedisExit) => {
      process.removeListener('exit', endWithOwner)
      done(exit)
    }
    child.once('exit', (code, signal) => settle({ code, signal }))
    child.once('error', () => {
      if (child.pid === undefined) settle({ code: null, signal: null })
    })
  })
}

/** What Redis says before it has opened its log file, as for a setting it does not know. */
function lastOutput(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (bytes: Buffer) => {
      text = (text + bytes.toString('utf8')).slice(-4096)
    })
  }
  return () => text.trim()
}

async function textFrom(path: string, offsetBytes: number): Promise<string> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0))
  return bytes.subarray(offsetBytes).toString('utf8')
}

function socketIn(runDir: string): string {
  return join(runDir, 'redis.sock')
}
