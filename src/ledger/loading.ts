/** Reads owners and sessions from Redis in one atomic step. */
import { present } from '../domain/assert.ts'
import { emptyOwner, type OwnerState } from '../domain/bucket.ts'
import type { Session } from '../domain/session.ts'
import type { RedisConnection, StoreDownError } from '../store/redis.ts'
import type { Epochs } from './epochs.ts'
import { fenceField, type LedgerKeys, sessionField, stateField } from './keys.ts'
import { CorruptValueError, unpackOwner } from './owner-packing.ts'
import { callPerPartition } from './partition-calls.ts'
import { REPLY } from './replies.ts'
import { runScript } from './script.ts'
import { loadScript } from './scripts.ts'
import { unpackSession } from './session-packing.ts'

/** A subscriber's profile fence: raised before and after each write of the profile. */
export interface Fence {
  number: number
  /** True while a write of the profile is in progress. */
  dirty: boolean
  changedMs: number
}

export interface OwnerQuery {
  aid: number
  sid: number
  sessionKeys: readonly string[]
}

/**
 * Current state of an owner, with the sessions in the order of the request; null for a session that
 * does not exist.
 */
export interface LoadedOwner {
  state: OwnerState
  fence: Fence
  sessions: (Session | null)[]
}

/**
 * A loaded owner, or the reason why it could not be loaded: it is damaged, or its node of the
 * cluster is unavailable.
 */
export type LoadReply = LoadedOwner | CorruptValueError | StoreDownError

export type LoadEach = (queries: readonly OwnerQuery[]) => Promise<LoadReply[]>

/** States of owners of one account. Rejects with `CorruptValueError` or `StoreDownError`. */
export async function loadOwners(
  { load }: { readonly load: LoadEach },
  aid: number,
  sids: readonly number[],
): Promise<OwnerState[]> {
  const loaded = await load(sids.map((sid) => ({ aid, sid, sessionKeys: [] })))
  return loaded.map((owner) => {
    if (owner instanceof Error) throw owner
    return owner.state
  })
}

export function createLoadEach(redis: RedisConnection, epochs: Epochs, keys: LedgerKeys): LoadEach {
  const partitionOf = ({ aid }: OwnerQuery) => keys.partitionOf(aid)
  return (queries) =>
    callPerPartition<OwnerQuery, LoadedOwner | CorruptValueError>(
      redis,
      queries,
      partitionOf,
      (part, partition) =>
        epochs.withEpoch(partition, async (epoch) => {
          const owners = part.map((query) => ({
            key: keys.account(query.aid),
            fields: fieldsOf(query),
          }))
          const replies = await runScript(redis, loadScript, { epoch, owners })
          return replies.map((reply, index) => readLoaded(present(part[index], 'owner'), reply))
        }),
    )
}

function fieldsOf({ sid, sessionKeys }: OwnerQuery): string[] {
  const sessions = sessionKeys.map((sessionKey) => sessionField(sid, sessionKey))
  return [stateField(sid), fenceField(sid), ...sessions]
}

export function readFence(packed: unknown): Fence {
  if (!Buffer.isBuffer(packed)) return { number: 0, dirty: false, changedMs: 0 }
  return {
    number: packed.readDoubleLE(0),
    dirty: packed.readDoubleLE(8) === 1,
    changedMs: packed.readDoubleLE(16),
  }
}

function readState(aid: number, sid: number, packed: unknown): OwnerState {
  return Buffer.isBuffer(packed) ? unpackOwner(aid, sid, packed) : emptyOwner(aid, sid)
}

function readLoaded(query: OwnerQuery, reply: unknown[]): LoadedOwner | CorruptValueError {
  try {
    return readOwner(query, reply)
  } catch (error) {
    if (error instanceof CorruptValueError) return error
    throw error
  }
}

/** Decodes state, fence and sessions as load.lua returns them. Throws `CorruptValueError`. */
export function readOwner({ aid, sid, sessionKeys }: OwnerQuery, reply: unknown[]): LoadedOwner {
  const [state, fence, ...sessions] = reply
  if (state === REPLY.CORRUPT) {
    throw new CorruptValueError(`an owner cannot be read: ${fence}`, { aid, sid })
  }
  return {
    state: readState(aid, sid, state),
    fence: readFence(fence),
    sessions: sessions.map((packed, index) =>
      Buffer.isBuffer(packed)
        ? unpackSession(aid, sid, present(sessionKeys[index], 'session key'), packed)
        : null,
    ),
  }
}
