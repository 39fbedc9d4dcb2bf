/**
 * The commit: all changes of an account in one atomic step, a whole batch of accounts in as few
 * script calls as possible.
 */
import { present } from '../domain/assert.ts'
import type { OperationLine } from '../domain/line.ts'
import { type RedisConnection, StoreDownError } from '../store/redis.ts'
import { type AccountCommit, type LayoutSettings, layOut } from './commit-layout.ts'
import type { Epochs } from './epochs.ts'
import { type LoadedOwner, readOwner } from './loading.ts'
import { CorruptValueError } from './owner-packing.ts'
import { callPerPartition } from './partition-calls.ts'
import { unpackResult } from './record-packing.ts'
import { REPLY } from './replies.ts'
import { runScript } from './script.ts'
import {
  type CommitReplies,
  commitScript,
  type DirectoryRegistration,
  type Epoch,
  openDirectoryScript,
} from './scripts.ts'
import { parseLocation, type SessionLocation, sessionKeyIn } from './session-locations.ts'

/** A session that is registered in another account. */
export interface RegisteredSession {
  sessionKey: string
  location: SessionLocation
}

export type CommitReply =
  | { kind: 'committed' }
  | { kind: 'conflict'; shared: LoadedOwner; owners: LoadedOwner[] }
  /**
   * Another worker is committing to the account. With `registered`: another account has just
   * registered the session and may be opening it.
   */
  | { kind: 'busy'; registered: RegisteredSession | null }
  | { kind: 'repeated'; result: OperationLine }
  | ({ kind: 'registered' } & RegisteredSession)
  | { kind: 'corrupt'; detail: string }
  /**
   * The node of the cluster that holds the account is unavailable; whether the commit was written
   * is unknown.
   */
  | { kind: 'down'; error: StoreDownError }

export type Commit = (batch: readonly AccountCommit[], nowMs: number) => Promise<CommitReply[]>

export function createCommit(
  redis: RedisConnection,
  epochs: Epochs,
  layout: LayoutSettings,
): Commit {
  const partitionOf = ({ aid }: AccountCommit) => layout.keys.partitionOf(aid)
  const run = (part: readonly AccountCommit[], epoch: Epoch, nowMs: number) =>
    runScript(redis, commitScript, layOut(part, layout, epoch, nowMs))
  const write: Commit = async (batch, nowMs) => {
    const replies = await callPerPartition(redis, batch, partitionOf, (part, partition) =>
      epochs.withEpoch(partition, async (epoch) => {
        const raw = await run(part, epoch, nowMs)
        if (raw === REPLY.COMMITTED) return part.map(() => COMMITTED)
        const retry = (accounts: readonly AccountCommit[]) => run(accounts, epoch, nowMs)
        const final = await retryUnwritten(part, raw, partitionOf, retry)
        return final.map((reply, index) => readCommit(present(part[index], 'commit'), reply))
      }),
    )
    return replies.map(outageAsReply)
  }
  if (!redis.isCluster) return write
  const register = createRegistering(redis, epochs, layout)
  return async (batch, nowMs) => {
    const refused = await register(batch, nowMs)
    const accepted = batch.filter((_, index) => refused[index] === null)
    const written = await write(
      accepted.map((commit) => ({ ...commit, registrations: [] })),
      nowMs,
    )
    return refused.map((reply) => reply ?? present(written.shift(), 'commit reply'))
  }
}

type RawReply = number | unknown[]

/**
 * A call writes to one stream, that of its first account. If that stream is damaged, the accounts
 * of other partitions are committed again, each through its own stream. In a cluster a call has
 * only one partition.
 */
async function retryUnwritten(
  batch: readonly AccountCommit[],
  replies: readonly RawReply[],
  partitionOf: (commit: AccountCommit) => number,
  retry: (part: readonly AccountCommit[]) => Promise<CommitReplies>,
): Promise<RawReply[]> {
  const final = [...replies]
  const damaged = partitionOf(present(batch[0], 'commit'))
  const byPartition = new Map<number, number[]>()
  for (const [index, commit] of batch.entries()) {
    if (codeOf(present(replies[index], 'reply')) !== REPLY.UNWRITTEN) continue
    const partition = partitionOf(commit)
    if (partition === damaged) continue
    byPartition.set(partition, [...(byPartition.get(partition) ?? []), index])
  }
  for (const indexes of byPartition.values()) {
    const part = indexes.map((index) => present(batch[index], 'commit'))
    const raw = await retry(part)
    for (const [position, index] of indexes.entries()) {
      final[index] = raw === REPLY.COMMITTED ? raw : present(raw[position], 'reply')
    }
  }
  return final
}

function codeOf(reply: RawReply): unknown {
  return Array.isArray(reply) ? reply[0] : reply
}

function outageAsReply(reply: CommitReply | StoreDownError): CommitReply {
  return reply instanceof StoreDownError ? { kind: 'down', error: reply } : reply
}

interface BatchRegistration extends DirectoryRegistration {
  /** Index of the account within the batch. */
  account: number
  partition: number
}

/**
 * In a cluster the directory entry of a session is in another hash slot than its account, so
 * sessions are registered before the commit. A registered session that is never opened is replaced
 * by the next registration.
 */
function createRegistering(redis: RedisConnection, epochs: Epochs, { keys }: LayoutSettings) {
  return async (
    batch: readonly AccountCommit[],
    nowMs: number,
  ): Promise<(CommitReply | null)[]> => {
    const refused: (CommitReply | null)[] = batch.map(() => null)
    const registrations = batch.flatMap((commit, account) =>
      commit.registrations.map(({ sessionKey, ...registration }): BatchRegistration => {
        const partition = keys.directoryPartitionOf(sessionKey)
        return { ...registration, key: keys.directory(sessionKey), account, partition }
      }),
    )
    const replies = await callPerPartition(
      redis,
      registrations,
      (registration) => registration.partition,
      (part, partition) =>
        epochs.withEpoch(partition, (epoch) =>
          runScript(redis, openDirectoryScript, { epoch, registrations: [...part], nowMs }),
        ),
    )
    for (const [index, reply] of replies.entries()) {
      const { account } = present(registrations[index], 'registration')
      if (reply !== REPLY.COMMITTED) {
        refused[account] ??=
          reply instanceof StoreDownError ? { kind: 'down', error: reply } : readRefusal(reply)
      }
    }
    return refused
  }
}

const COMMITTED: CommitReply = { kind: 'committed' }

function readCommit(commit: AccountCommit, reply: RawReply): CommitReply {
  const [code, ...rest] = Array.isArray(reply) ? reply : [reply]
  switch (code) {
    case REPLY.COMMITTED:
      return COMMITTED
    case REPLY.CONFLICT:
      return readConflict(commit, rest)
    case REPLY.REPEATED:
      return { kind: 'repeated', result: unpackResult(rest[0] as Buffer) }
    default:
      return readRefusal(reply)
  }
}

function readRefusal(reply: RawReply): CommitReply {
  const [code, ...rest] = Array.isArray(reply) ? reply : [reply]
  if (code === REPLY.BUSY && rest.length === 0) return { kind: 'busy', registered: null }
  if (code !== REPLY.REGISTERED && code !== REPLY.BUSY) {
    return { kind: 'corrupt', detail: String(rest[0]) }
  }
  const sessionKey = sessionKeyIn(String(rest[1]))
  const location = parseLocation(String(rest[0]))
  if (location === null) return { kind: 'corrupt', detail: `location of session ${sessionKey}` }
  const registered = { sessionKey, location }
  return code === REPLY.BUSY ? { kind: 'busy', registered } : { kind: 'registered', ...registered }
}

function readConflict(commit: AccountCommit, rest: unknown[]): CommitReply {
  try {
    const shared = readOwner({ aid: commit.aid, sid: 0, sessionKeys: [] }, rest.slice(0, 2))
    const owners: LoadedOwner[] = []
    let at = 2
    for (const { state, sessions } of commit.owners) {
      const { aid, sid } = state
      const sessionKeys = sessions.map(({ sessionKey }) => sessionKey)
      const part = rest.slice(at, at + 2 + sessions.length)
      owners.push(readOwner({ aid, sid, sessionKeys }, part))
      at += 2 + sessions.length
    }
    return { kind: 'conflict', shared, owners }
  } catch (error) {
    if (error instanceof CorruptValueError) return { kind: 'corrupt', detail: error.message }
    throw error
  }
}
