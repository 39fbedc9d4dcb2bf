/**
 * The ledger: live balances, reservations and sessions in Redis. The only writer of balances.
 * Every method throws `StoreDownError` while Redis is away.
 */
import { present } from '../domain/assert.ts'
import { emptyOwner, type OwnerState } from '../domain/bucket.ts'
import type { OperationLine } from '../domain/line.ts'
import type { Session } from '../domain/session.ts'
import type { RedisConnection } from '../store/redis.ts'
import { type AccountCommit, type LayoutSettings, layOut } from './commit-layout.ts'
import { createKeys, type LedgerKeys } from './keys.ts'
import { CorruptValueError, unpackOwner } from './owner-packing.ts'
import { REPLY } from './replies.ts'
import { runScript } from './script.ts'
import { commitScript, fenceScript, loadScript } from './scripts.ts'
import { unpackResult, unpackSession } from './session-packing.ts'

export interface LedgerSettings {
  partitions: number
  directoryTtlMs: number
  operationKeepMs: number
}

/** A subscriber's profile fence: raised before and after each write of the profile. */
export interface Fence {
  number: number
  /** True while a write is under way. */
  dirty: boolean
  changedMs: number
}

export interface OwnerWanted {
  aid: number
  sid: number
  sessionKeys: readonly string[]
}

/** An owner as it stands; sessions in the order asked for, null where there is none. */
export interface LoadedOwner {
  state: OwnerState
  fence: Fence
  sessions: (Session | null)[]
}

/** Where a session is at home. */
export interface Home {
  aid: number
  sid: number
}

export type CommitReply =
  | { kind: 'committed' }
  | { kind: 'conflict'; shared: OwnerState; owners: LoadedOwner[] }
  | { kind: 'busy' }
  | { kind: 'repeated'; result: OperationLine }
  | { kind: 'claimed'; sessionKey: string; home: Home }
  | { kind: 'corrupt'; detail: string }

export interface Ledger {
  keys: LedgerKeys
  redis: RedisConnection
  /** One script call. A damaged owner is reported in its place, and only there. */
  load(wanted: readonly OwnerWanted[]): Promise<(LoadedOwner | CorruptValueError)[]>
  /** One script call for the whole batch; a reply per account, in order. */
  commit(batch: readonly AccountCommit[], nowMs: number): Promise<CommitReply[]>
  /** Homes of sessions, null where the directory knows none. */
  findHomes(sessionKeys: readonly string[]): Promise<(Home | null)[]>
  /** The stored result of an operation, null if it was never done. */
  findOperation(aid: number, operationId: string): Promise<OperationLine | null>
  /** Calls back when the connection ends: what was read before may not be what stands after. */
  onConnectionLost(listener: () => void): void
  /** Keeps directory entries of sessions that live long. */
  keepHomes(sessionKeys: readonly string[]): Promise<void>
  /** Raises the fence of a subscriber's profile (design.md §3, catalogue feed). */
  raiseFence(aid: number, sid: number, dirty: boolean, nowMs: number): Promise<Fence>
}

export function homeText({ aid, sid }: Home): string {
  return `${aid}:${sid}`
}

/** `token` tells this connection's commits from those of every other worker and process. */
export function createLedger(
  redis: RedisConnection,
  settings: LedgerSettings,
  token: number,
): Ledger {
  const keys = createKeys(settings.partitions)
  const layout: LayoutSettings = { keys, ...settings, token }
  return {
    keys,
    redis,
    async load(wanted) {
      const owners = wanted.map(({ aid, sid, sessionKeys }) => ({
        key: keys.owner(aid, sid),
        sessionKeys,
      }))
      const replies = await runScript(redis, loadScript, { owners })
      return replies.map((reply, index) => readLoaded(present(wanted[index], 'owner'), reply))
    },
    async commit(batch, nowMs) {
      const replies = await runScript(redis, commitScript, layOut(batch, layout, nowMs))
      return replies.map((reply, index) => readCommit(present(batch[index], 'commit'), reply))
    },
    async findHomes(sessionKeys) {
      const found = await redis.guard(redis.client.mget(sessionKeys.map(keys.directory)))
      return found.map((text) => (text === null ? null : parseHome(text)))
    },
    async findOperation(aid, operationId) {
      const stored = redis.client.getBuffer(keys.operation(aid, operationId))
      const packed = await redis.guard(stored)
      return packed === null ? null : unpackResult(packed)
    },
    onConnectionLost(listener) {
      redis.client.on('close', listener)
    },
    async keepHomes(sessionKeys) {
      const renewals = sessionKeys.map((sessionKey) =>
        redis.client.pexpire(keys.directory(sessionKey), settings.directoryTtlMs),
      )
      await redis.guard(Promise.all(renewals))
    },
    async raiseFence(aid, sid, dirty, nowMs) {
      const owner = keys.owner(aid, sid)
      return readFence(await runScript(redis, fenceScript, { owner, dirty, nowMs }))
    },
  }
}

/** Null if it is none of ours: a damaged entry leads nowhere. */
function parseHome(text: string): Home | null {
  const match = /^(\d+):(\d+)$/.exec(text)
  return match === null ? null : { aid: Number(match[1]), sid: Number(match[2]) }
}

function readFence(packed: unknown): Fence {
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

function readLoaded(wanted: OwnerWanted, reply: unknown[]): LoadedOwner | CorruptValueError {
  try {
    return readOwner(wanted, reply)
  } catch (error) {
    if (error instanceof CorruptValueError) return error
    throw error
  }
}

function readOwner({ aid, sid }: { aid: number; sid: number }, reply: unknown[]): LoadedOwner {
  const [state, fence, ...sessions] = reply
  if (state === REPLY.CORRUPT) {
    throw new CorruptValueError(`an owner cannot be read: ${fence}`, { aid, sid })
  }
  return {
    state: readState(aid, sid, state),
    fence: readFence(fence),
    sessions: sessions.map((packed) =>
      Buffer.isBuffer(packed) ? unpackSession(aid, sid, packed) : null,
    ),
  }
}

function readCommit(commit: AccountCommit, reply: number | unknown[]): CommitReply {
  const [code, ...rest] = Array.isArray(reply) ? reply : [reply]
  switch (code) {
    case REPLY.COMMITTED:
      return { kind: 'committed' }
    case REPLY.CONFLICT:
      return readConflict(commit, rest)
    case REPLY.BUSY:
      return { kind: 'busy' }
    case REPLY.REPEATED:
      return { kind: 'repeated', result: unpackResult(rest[0] as Buffer) }
    case REPLY.CLAIMED: {
      const sessionKey = String(rest[1]).slice('d:'.length)
      const home = parseHome(String(rest[0]))
      if (home === null) return { kind: 'corrupt', detail: `home of session ${sessionKey}` }
      return { kind: 'claimed', sessionKey, home }
    }
    default:
      return { kind: 'corrupt', detail: String(rest[0]) }
  }
}

function readConflict(commit: AccountCommit, rest: unknown[]): CommitReply {
  try {
    const shared = readState(commit.aid, 0, rest[0])
    const owners: LoadedOwner[] = []
    let at = 1
    for (const { state, sessions } of commit.owners) {
      owners.push(readOwner(state, rest.slice(at, at + 2 + sessions.length)))
      at += 2 + sessions.length
    }
    return { kind: 'conflict', shared, owners }
  } catch (error) {
    if (error instanceof CorruptValueError) return { kind: 'corrupt', detail: error.message }
    throw error
  }
}
