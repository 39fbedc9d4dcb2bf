/**
 * Finds commits that Redis has executed but not written to its append-only file: an upper bound of
 * the loss if it exits. Stream ids are times of Redis' clock, and each commit has one: those in
 * memory are compared with the last one in the file.
 */
import { open } from 'node:fs/promises'
import type { Config } from '../config/schema.ts'
import { appendOnlyFiles } from '../embedded/redis/unwritten.ts'
import { type CommitsSince, commitsSince } from '../ledger/commits-since.ts'
import { createKeys } from '../ledger/keys.ts'
import { createLogger } from '../runtime/log.ts'
import { openRedis, waitForRedis } from '../store/redis.ts'

export interface UnwrittenCommits extends CommitsSince {
  /** Time of the last commit in the file, ms; null if the tail of the file has none. */
  readonly writtenMs: number | null
}

/** Null if Redis does not answer. */
export async function readUnwritten(
  config: Config,
  url: string,
  redisDir: string,
): Promise<UnwrittenCommits | null> {
  const log = createLogger({ name: 'stop', level: 'silent' })
  const redis = openRedis({ ...config.redis, url }, log)
  try {
    await waitForRedis(redis, config.redis.connectTimeoutMs)
    const writtenMs = await lastWrittenMs(redisDir)
    const since = await commitsSince(redis, createKeys(config.ledger.partitions), writtenMs ?? 0)
    return { writtenMs, ...since }
  } catch {
    return null
  } finally {
    await redis.close()
  }
}

export function unwrittenText(unwritten: UnwrittenCommits | null, bytes: number | null): string {
  const size = bytes === null ? '' : `${bytes} bytes: `
  if (unwritten === null) {
    return 'The unwritten data cannot be read; it is at most the charges of the last two seconds.'
  }
  const { writtenMs, newestMs, commits, accounts, sessions } = unwritten
  if (newestMs === null || (writtenMs !== null && newestMs <= writtenMs)) {
    return `In its memory only: ${size}no commit of charges.`
  }
  const from = writtenMs === null ? 'the beginning of its file' : timeText(writtenMs)
  return (
    `In its memory only: ${size}what was charged from ${from} to ${timeText(newestMs)}; of that ` +
    `${commits} commits with ${sessions} sessions of ${accounts} accounts are still to be recorded.`
  )
}

function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

/** Length of the tail that is read; a batch of commits is at most a tenth of it. */
const TAIL_BYTES = 4 * 1024 * 1024
/** XADD to a partition's stream with the id assigned by Redis, as in the file. */
const ADDED = /XADD\r\n\$\d+\r\n\{p\d+\}:l\r\n\$\d+\r\n(\d{13})-\d+\r\n/g

async function lastWrittenMs(redisDir: string): Promise<number | null> {
  for (const path of (await appendOnlyFiles(redisDir)).reverse()) {
    const ids = [...(await tailOf(path)).matchAll(ADDED)]
    const last = ids.at(-1)?.[1]
    if (last !== undefined) return Number(last)
  }
  return null
}

async function tailOf(path: string): Promise<string> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const length = Math.min(size, TAIL_BYTES)
    const bytes = Buffer.alloc(length)
    await file.read(bytes, 0, length, size - length)
    return bytes.toString('latin1')
  } finally {
    await file.close()
  }
}
