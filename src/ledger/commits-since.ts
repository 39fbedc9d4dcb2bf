/** Counts the commits after a time of the Redis clock, as far as the streams still contain them. */
import type { RedisConnection } from '../store/redis.ts'
import type { LedgerKeys } from './keys.ts'
import { sessionKeysIn } from './stream-entries.ts'

export interface CommitsSince {
  /** Commits that are not yet recorded; at most `COMMITS_MAX` are counted in each partition. */
  commits: number
  /** Accounts and sessions that these commits wrote. */
  accounts: number
  sessions: number
  /** Time of the newest commit, recorded or not; null if there never was one. */
  newestMs: number | null
}

const COMMITS_MAX = 10_000

/** Throws `StoreDownError`. */
export async function commitsSince(
  { client, guard }: Pick<RedisConnection, 'client' | 'guard'>,
  keys: LedgerKeys,
  sinceMs: number,
): Promise<CommitsSince> {
  const accounts = new Set<string>()
  const sessions = new Set<string>()
  let commits = 0
  let newestMs: number | null = null
  for (let partition = 0; partition < keys.partitions; partition += 1) {
    const key = keys.stream(partition)
    const lastMs = await guard(client.xinfo('STREAM', key)).then(lastIdMs, unlessAbsent)
    newestMs = lastMs === null ? newestMs : Math.max(newestMs ?? 0, lastMs)
    // Several commits may share a millisecond.
    if (lastMs === null || lastMs < sinceMs) continue
    const entries = await guard(client.xrange(key, String(sinceMs), '+', 'COUNT', COMMITS_MAX))
    commits += entries.length
    for (const [, fields] of entries) addOwners(fields, accounts, sessions)
  }
  return { commits, accounts: accounts.size, sessions: sessions.size, newestMs }
}

/**
 * Reads the reply of XINFO STREAM, which alternates names and values. Null if nothing was ever
 * added.
 */
function lastIdMs(reply: unknown): number | null {
  const fields = reply as unknown[]
  const id = String(fields[fields.indexOf('last-generated-id') + 1])
  return id === '0-0' ? null : Number(id.slice(0, id.indexOf('-')))
}

function unlessAbsent(error: unknown): null {
  if (error instanceof Error && error.message.includes('no such key')) return null
  throw error
}

/** Fields of an entry (see stream-entries.ts) are owners with their sessions. */
function addOwners(fields: readonly string[], accounts: Set<string>, sessions: Set<string>): void {
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const aid = /^(\d+):\d+$/.exec(fields[index] as string)?.[1]
    if (aid === undefined) continue
    accounts.add(aid)
    for (const key of sessionKeysIn(fields[index + 1] as string)) sessions.add(key)
  }
}
