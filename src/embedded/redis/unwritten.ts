/**
 * Whether all that Redis has executed is on the disk. With `appendfsync everysec` Redis answers
 * commands before they are written; on a full disk they stay in memory, and SHUTDOWN drops them.
 */
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { monotonicMs } from '../../runtime/clock.ts'
import { sendCommand } from './send-command.ts'

/** Executed commands that are in the memory of Redis only. */
export interface UnwrittenData {
  /** Why, for a person. */
  readonly reason: string
  /** Length of the commands in the append-only format; null where Redis does not tell. */
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
/** An ordinary stop takes less. */
const NOTICE_MS = 1_000
/** Each look holds writes back for so long: nothing is executed between the last and the end. */
const PAUSE_MS = 2_000

/**
 * Resolves with null when everything is written and synced; after `limitMs` with what is not.
 * Writes of other clients are held back by then: end Redis, or call `resumeWrites`.
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

/** Lets writes through that `untilWritten` has held back. */
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

/** SHUTDOWN syncs too, but only logs that it could not. */
async function syncFiles(dataDir: string): Promise<UnwrittenData | null> {
  for (const path of await appendOnlyFiles(dataDir)) {
    try {
      const file = await open(path, 'r+')
      await file.datasync().finally(() => file.close())
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // A rewrite has replaced it by one that is complete.
      if (code !== 'ENOENT') return { reason: `${path} cannot be synced (${code})`, bytes: null }
    }
  }
  return null
}

/**
 * Append-only files, oldest first; before Redis 7 there was one. A base file is complete before it
 * gets its name.
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
