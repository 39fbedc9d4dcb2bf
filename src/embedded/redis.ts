import { readFile, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../runtime/log.ts'
import { FolderInUseError, type FolderLock, isLocked, lockFolder } from './folder-lock.ts'
import { type AppendFsync, LOG_FILE, liveSettings, redisArguments } from './redis/arguments.ts'
import { environmentFor, findRedis, type RedisProgram } from './redis/find.ts'
import { findOrphan, type OrphanRedis, OrphanRedisError } from './redis/orphan.ts'
import { sendCommand } from './redis/send-command.ts'
import { adoptServer, type RedisExit, type RedisServer, spawnRedis } from './redis/server.ts'
import { resumeWrites, type UnwrittenData, waitUntilWritten } from './redis/unwritten.ts'
import { createPrivateFolder } from './run-dir.ts'

export type { RedisExit } from './redis/server.ts'
export type { UnwrittenData } from './redis/unwritten.ts'

const LOCK_NAME = 'redis'
/** Stores the run folder of the last start: the next start may use another one. */
const RUN_RECORD = 'redis.run'
const POLL_MS = 10
/**
 * Number of polls without an answer after which a start has failed. Loading a long log may take
 * longer, but is answered.
 */
const SILENT_POLLS_MAX = 1_500
const REPLY_MS = 2_000
const CLOSE_TIMEOUT_MS = 10_000
const WRITE_TIMEOUT_MS = 30_000
const LOG_LINES_SHOWN = 8

export type RedisOptions = {
  /** Folder of the append-only files, created if needed. */
  readonly dataDir: string
  /** Folder of the socket, from `runDirFor`. */
  readonly runDir: string
  readonly appendfsync: AppendFsync
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Memory limit; by default Redis uses the memory of the machine. */
  readonly maxmemoryBytes?: number
  /** How long `close` waits until the append-only file is written; 30 seconds by default. */
  readonly writeTimeoutMs?: number
  /** How long `close` then waits for an orderly shutdown; ten seconds by default. */
  readonly closeTimeoutMs?: number
  /** Called once when `close` has to wait for the append-only file. */
  readonly onWait?: (unwritten: UnwrittenData) => void
  /** The redis-server to run; by default the one that `findRedis` finds. */
  readonly program?: RedisProgram
}

export type EmbeddedRedis = {
  /** `unix://` and the absolute path of the socket. */
  readonly url: string
  readonly socketPath: string
  readonly pid: number
  /**
   * Stops Redis when its append-only file is on disk and resolves with null. If that takes longer
   * than `writeTimeoutMs`, Redis keeps running for the next owner of the folder to adopt, and
   * `close` resolves with the unwritten data. With `force` Redis is stopped without waiting. Only
   * the first call has an effect.
   */
  close(how?: { force: boolean }): Promise<UnwrittenData | null>
  /** Resolves when Redis has ended for any reason and the data folder is unlocked. */
  readonly exited: Promise<RedisExit>
}

/** The redis-server ended or did not answer before it was ready. */
export class RedisStartError extends Error {
  override readonly name = 'RedisStartError'
}

/**
 * Runs a real redis-server on a data folder, reachable only on a unix socket, and waits until it
 * has loaded its data. A Redis that an earlier owner has left running is adopted: it may hold
 * commands that are not on disk. Redis outlives this process unless `close` stops it.
 * @throws RedisMissingError, FolderInUseError (its owner is alive), OrphanRedisError,
 *   RedisStartError (with the last lines of its log)
 */
export async function startRedis(options: RedisOptions): Promise<EmbeddedRedis> {
  const program = options.program ?? (await findRedis(options.dataDir))
  const redis = await withFolderLock(options, (orphan, resolved) =>
    orphan === null ? spawnReady(resolved, program) : adoptReady(resolved, orphan),
  )
  return redis as EmbeddedRedis
}

/**
 * Adopts the Redis that an earlier owner has left running; null if no Redis runs.
 * @throws as `startRedis` does
 */
export function adoptRedis(options: RedisOptions): Promise<EmbeddedRedis | null> {
  return withFolderLock(options, (orphan, resolved) =>
    orphan === null ? null : adoptReady(resolved, orphan),
  )
}

type StartServer = (
  orphan: OrphanRedis | null,
  options: RedisOptions,
) => Promise<RedisServer> | RedisServer | null

/**
 * Runs `start` with the folder locked; the lock is held until Redis has ended or is left running.
 */
async function withFolderLock(
  unresolved: RedisOptions,
  start: StartServer,
): Promise<EmbeddedRedis | null> {
  const dataDir = resolve(unresolved.dataDir)
  createPrivateFolder(dataDir)
  const options = { ...unresolved, dataDir }
  const lock = await lockFolder(options.runDir, LOCK_NAME)
  try {
    const orphan = await findOrphanIn(options)
    const server = await start(orphan, options)
    if (server !== null) return createHandle(server, options, lock)
  } catch (error) {
    await lock.release()
    throw error
  }
  await lock.release()
  return null
}

/** The Redis that has the data folder open. A Redis on another socket cannot be adopted. */
async function findOrphanIn({ dataDir, runDir, log }: RedisOptions): Promise<OrphanRedis | null> {
  const record = join(dataDir, RUN_RECORD)
  const earlier = await readFile(record, 'utf8').catch(() => '')
  if (earlier === runDir) return findOrphan(socketIn(runDir))
  if (earlier !== '') {
    if (await isLocked(earlier, LOCK_NAME)) throw new FolderInUseError(dataDir, undefined)
    await endOrphanAt(socketIn(earlier), dataDir, log)
  }
  // Not rewritten if it is unchanged: on a full disk the record would become empty.
  await writeFile(record, runDir)
  return findOrphan(socketIn(runDir))
}

async function endOrphanAt(
  socketPath: string,
  dataDir: string,
  log: RedisOptions['log'],
): Promise<void> {
  const orphan = await findOrphan(socketPath)
  if (orphan === null) return
  const server = adoptServer(orphan.pid, socketPath)
  const limitMs = WRITE_TIMEOUT_MS
  const unwritten = await waitUntilWritten({
    socketPath,
    dataDir,
    limitMs,
    onWait: () => undefined,
  })
  if (unwritten !== null) {
    server.release()
    await resumeWrites(socketPath)
    const { reason } = unwritten
    throw new OrphanRedisError(
      `a redis-server of an earlier run (process ${orphan.pid}) must be stopped first: ${reason}`,
    )
  }
  await end(server, socketPath, CLOSE_TIMEOUT_MS, log)
  log.warn({ socketPath }, 'stopped a redis-server that an earlier owner had left running')
}

async function spawnReady(options: RedisOptions, program: RedisProgram): Promise<RedisServer> {
  const { dataDir, runDir, log } = options
  const socketPath = socketIn(runDir)
  const logFile = join(dataDir, LOG_FILE)
  const logSizeBytes = await stat(logFile).then(
    (found) => found.size,
    () => 0,
  )
  const args = redisArguments(program, { ...options, socketPath })
  const server = spawnRedis(program.command, args, environmentFor(program))
  const problem = await untilReady(socketPath, server)
  if (problem !== undefined) {
    server.kill()
    await server.exited
    const lines = [server.output(), await textFrom(logFile, logSizeBytes)]
      .join('\n')
      .trim()
      .split('\n')
    const lastLines = lines.slice(-LOG_LINES_SHOWN).join('\n')
    throw new RedisStartError(`${program.command} ${problem}. Last lines of its log:\n${lastLines}`)
  }
  log.info({ serverPid: server.pid, version: program.version, socketPath }, 'redis-server started')
  return server
}

async function adoptReady(
  options: RedisOptions,
  { pid, version }: OrphanRedis,
): Promise<RedisServer> {
  const socketPath = socketIn(options.runDir)
  const server = adoptServer(pid, socketPath)
  const problem = await untilReady(socketPath, server)
  if (problem !== undefined) {
    server.release()
    throw new OrphanRedisError(`a redis-server of an earlier run (process ${pid}) ${problem}`)
  }
  const { dataDir, log } = options
  const unwritten = await waitUntilWritten({
    socketPath,
    dataDir,
    limitMs: 0,
    onWait: () => undefined,
  })
  await resumeWrites(socketPath)
  // With 'always' Redis ends at the first failed write and would lose the data that it holds.
  const settings = unwritten === null ? Object.entries(liveSettings(options)) : []
  for (const [name, value] of settings) {
    await sendCommand(socketPath, ['CONFIG', 'SET', name, String(value)], REPLY_MS)
  }
  log.warn({ serverPid: pid, version, ...unwritten }, 'adopted a redis-server of an earlier run')
  return server
}

/** Undefined if Redis answers with its data loaded, otherwise the reason why not. */
async function untilReady(socketPath: string, server: RedisServer): Promise<string | undefined> {
  for (let silent = 0; silent < SILENT_POLLS_MAX; silent++) {
    if (server.pid === 0) return 'cannot be run'
    const exit = server.exit()
    if (exit !== null) return `ended during startup ${exit.signal ?? `with code ${exit.code}`}`
    const reply = await sendCommand(socketPath, ['PING'], REPLY_MS).catch(() => '')
    // On a full disk Redis has loaded its data, but answers PING with an error.
    if (reply === 'PONG' || reply.startsWith('-MISCONF')) return undefined
    if (reply.startsWith('-LOADING')) silent = 0
    await delay(POLL_MS)
  }
  return 'does not answer'
}

function createHandle(server: RedisServer, options: RedisOptions, lock: FolderLock): EmbeddedRedis {
  const { runDir, log, closeTimeoutMs = CLOSE_TIMEOUT_MS } = options
  const socketPath = socketIn(runDir)
  const { pid } = server
  let closing: Promise<UnwrittenData | null> | undefined
  const exited = server.exited.then(async (exit) => {
    await lock.release()
    if (closing === undefined)
      log.error({ serverPid: pid, ...exit }, 'redis-server ended unexpectedly')
    return exit
  })
  const act = async (force: boolean): Promise<UnwrittenData | null> => {
    // The socket may already belong to a Redis that was started later.
    if (server.exit() === null) {
      const unwritten = force ? null : await waitForWrites(server, options)
      if (unwritten !== null) {
        server.release()
        await lock.release()
        return unwritten
      }
      if (server.exit() !== null)
        log.error({ serverPid: pid }, 'redis-server ended before it was stopped')
      else await end(server, socketPath, closeTimeoutMs, log)
    }
    await exited
    return null
  }
  const close = (how = { force: false }) => {
    closing ??= act(how.force)
    return closing
  }
  return { url: `unix://${socketPath}`, socketPath, pid, close, exited }
}

/** Unwritten data, with writes resumed; null if everything is written or Redis has ended. */
async function waitForWrites(
  server: RedisServer,
  options: RedisOptions,
): Promise<UnwrittenData | null> {
  const { runDir, dataDir, writeTimeoutMs = WRITE_TIMEOUT_MS, onWait = () => undefined } = options
  const socketPath = socketIn(runDir)
  const waiting = waitUntilWritten({ socketPath, dataDir, limitMs: writeTimeoutMs, onWait })
  const unwritten = await Promise.race([waiting, server.exited.then(() => null)])
  if (unwritten !== null) await resumeWrites(socketPath)
  return unwritten
}

async function end(
  server: RedisServer,
  socketPath: string,
  timeoutMs: number,
  log: RedisOptions['log'],
): Promise<void> {
  // Redis normally ends without answering; `exited` below tells whether it did.
  sendCommand(socketPath, ['SHUTDOWN', 'NOSAVE'], timeoutMs).catch(() => undefined)
  const timer = setTimeout(() => {
    log.warn({ serverPid: server.pid, timeoutMs }, 'redis-server did not end: killing it')
    server.kill()
  }, timeoutMs)
  await server.exited
  clearTimeout(timer)
}

async function textFrom(path: string, offsetBytes: number): Promise<string> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0))
  return bytes.subarray(offsetBytes).toString('utf8')
}

function socketIn(runDir: string): string {
  return join(runDir, 'redis.sock')
}
