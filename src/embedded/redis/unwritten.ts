/**
 * Determines whether all commands that Redis has executed are on disk. With `appendfsync everysec`
 * Redis answers commands before they are written; on a full disk they stay in memory, and SHUTDOWN
 * discards them.
 */
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { monotonicMs } from '../../runtime/clock.ts'
import { sendCommand } from './send-command.ts'

/** Executed commands that exist only in the memory of Redis. */
export interface UnwrittenData {
  /** The reason, for an operator. */
  readonly reason: string
  /** Length of the commands in the append-only format; null if Redis does not report it. */
  readonly bytes: number | null
}

export interface WaitOptions {
  readonly socketPath: string
  /** Folder of the append-only files. */
  readonly dataDir: string
  readonly limitMs: number
  /** Called once when the wait becomes noticeable. */
  readonly onWait: (unwritten: UnwrittenData) => void
}

const REPLY_MS = 2_000
const POLL_MS = 50
/** A normal stop takes less. */
const NOTICE_MS = 1_000
/**
 * Each check pauses writes for this time, so that no command is executed between the last check and
 * the end.
 */
const PAUSE_MS = 2_000

/**
 * Resolves with null when everything is written and synced, or with the unwritten data after
 * `limitMs`. Writes of other clients are paused by then: stop Redis, or call `resumeWrites`.
 */
export async function waitUntilWritten(options: WaitOptions): Promise<UnwrittenData | null> {
  const beganMs = monotonicMs()
  let isNoticed = false
  for (;;) {
    const unwritten = await findUnwritten(options)
    const waitedMs = monotonicMs() - beganMs
    if (unwritten === null || waitedMs >= options.limitMs) return unwritten
    if (!isNoticed && waitedMs >= NOTICE_MS) {
      isNoticed = true
      options.onWait(unwritten)
    }
    await delay(Math.min(POLL_MS, options.limitMs - waitedMs))
  }
}

/** Resumes the writes that `waitUntilWritten` has paused. */
export async function resumeWrites(socketPath: string): Promise<void> {
  await sendCommand(socketPath, ['CLIENT', 'UNPAUSE'], REPLY_MS).catch(() => '')
}

async function findUnwritten({ socketPath, dataDir }: WaitOptions): Promise<UnwrittenData | null> {
  let info: string
  try {
    await sendCommand(socketPath, ['CLIENT', 'PAUSE', String(PAUSE_MS), 'WRITE'], REPLY_MS)
    info = await sendCommand(socketPath, ['INFO', 'persistence'], REPLY_MS)
  } catch {
    return { reason: 'redis-server does not answer', bytes: null }
  }
  const field = (name: string) => new RegExp(`^${name}:(\\w+)`, 'm').exec(info)?.[1]
  if (field('aof_enabled') !== '1') return null
  const bytes = Number(field('aof_buffer_length') ?? 0)
  if (field('aof_last_write_status') !== 'ok') {
    return { reason: `redis-server cannot write its append-only file in ${dataDir}`, bytes }
  }
  if (bytes > 0) return { reason: 'redis-server has not written its append-only file yet', bytes }
  return syncFiles(dataDir)
}

/** SHUTDOWN syncs as well, but only logs a failure. */
async function syncFiles(dataDir: string): Promise<UnwrittenData | null> {
  for (const path of await appendOnlyFiles(dataDir)) {
    try {
      const file = await open(path, 'r+')
      await file.datasync().finally(() => file.close())
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // A rewrite has replaced the file by a complete one.
      if (code !== 'ENOENT') return { reason: `${path} cannot be synced (${code})`, bytes: null }
    }
  }
  return null
}

/**
 * Append-only files, oldest first; a single one before Redis 7. Base files are complete before they
 * get their name.
 */
export async function appendOnlyFiles(dataDir: string): Promise<string[]> {
  const folder = join(dataDir, 'appendonlydir')
  const names = await readdir(folder).catch(() => undefined)
  if (names === undefined) return [join(dataDir, 'appendonly.aof')]
  return names
    .flatMap((name) => {
      const number = /\.(\d+)\.incr\.aof$/.exec(name)?.[1]
      return number === undefined ? [] : [{ name, number: Number(number) }]
    })
    .sort((one, other) => one.number - other.number)
    .map(({ name }) => join(folder, name))
}
