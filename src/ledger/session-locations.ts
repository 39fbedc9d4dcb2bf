/** The directory: which account a session is at home in. */
import type { RedisConnection, StoreDownError } from '../store/redis.ts'
import type { Epochs } from './epochs.ts'
import type { LedgerKeys } from './keys.ts'
import { callPerPartition } from './partition-calls.ts'

/** Where a session is at home. */
export interface SessionLocation {
  aid: number
  sid: number
}

export function formatLocation({ aid, sid }: SessionLocation): string {
  return `${aid}:${sid}`
}

/** Null if it is none of ours: a damaged entry leads nowhere. */
export function parseLocation(text: string): SessionLocation | null {
  const match = /^(\d+):(\d+)(?::\d+)?$/.exec(text)
  return match === null ? null : { aid: Number(match[1]), sid: Number(match[2]) }
}

/** The session that a directory key is of. */
export function sessionKeyIn(key: string): string {
  return key.slice(key.lastIndexOf(':') + 1)
}

/** An outage stands in the place of what a part of a cluster would have said. */
export type FindLocations = (
  sessionKeys: readonly string[],
) => Promise<(SessionLocation | null | StoreDownError)[]>

/** Entries and epoch are read at one moment, or a lost directory would know of no session. */
export function createFindLocations(
  redis: RedisConnection,
  epochs: Epochs,
  keys: LedgerKeys,
): FindLocations {
  return (sessionKeys) =>
    callPerPartition<string, SessionLocation | null>(
      redis,
      sessionKeys,
      keys.directoryPartitionOf,
      (part, partition) =>
        epochs.withEpoch(partition, async ({ key, text }) => {
          const [now, ...found] = await redis.guard(
            redis.client.mget(key, ...part.map(keys.directory)),
          )
          if (now !== text) throw new Error(`EPOCH ${now}`)
          return found.map((home) => (home === null ? null : parseLocation(home)))
        }),
    )
}
