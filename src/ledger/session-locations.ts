/** The session directory: in which account a session is registered. */
import type { RedisConnection, StoreDownError } from '../store/redis.ts'
import type { Epochs } from './epochs.ts'
import type { LedgerKeys } from './keys.ts'
import { callPerPartition } from './partition-calls.ts'

/** Account and subscriber of a session. */
export interface SessionLocation {
  aid: number
  sid: number
}

export function formatLocation({ aid, sid }: SessionLocation): string {
  return `${aid}:${sid}`
}

/** Null if the text is not a location: a damaged entry is treated as missing. */
export function parseLocation(text: string): SessionLocation | null {
  const match = /^(\d+):(\d+)(?::\d+)?$/.exec(text)
  return match === null ? null : { aid: Number(match[1]), sid: Number(match[2]) }
}

/** Session key of a directory key. */
export function sessionKeyIn(key: string): string {
  return key.slice(key.lastIndexOf(':') + 1)
}

/**
 * Results in input order; an error per session whose node is down.
 */
export type FindLocations = (
  sessionKeys: readonly string[],
) => Promise<(SessionLocation | null | StoreDownError)[]>

/**
 * Entries and epoch are read in one command: otherwise a lost directory would look like an empty
 * one.
 */
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
          return found.map((location) => (location === null ? null : parseLocation(location)))
        }),
    )
}
