/**
 * The sweep: gives back what abandoned sessions hold, and forgets tombstones whose time is over.
 * Any number of processes may sweep: a lease keeps them apart, the commit by version keeps them
 * right.
 */
import { isUnchanged, type OwnerState } from '../domain/bucket.ts'
import { type ExpiredSession, expireSession } from '../domain/expire.ts'
import type { Line } from '../domain/line.ts'
import type { Session } from '../domain/session.ts'
import type { AccountCommit, SessionCommit } from './commit-layout.ts'
import { indexMember, parseMember } from './keys.ts'
import type { Ledger, LoadedOwner } from './ledger.ts'
import { CorruptValueError } from './owner-packing.ts'
import { runScript } from './script.ts'
import { expiredScript, forgetScript } from './scripts.ts'

export interface SweepSettings {
  /** Most sessions and tombstones of one partition at once. */
  batchMax: number
  leaseMs: number
  replayMs: number
}

export interface SweepResult {
  expired: number
  /** Sessions that had lived on and were put back in their place. */
  moved: number
  forgotten: number
  /**
   * Sessions that are damaged, or their owner is; they stay, and come due again after the lease.
   */
  corrupt: number
}

interface DueSession {
  aid: number
  sid: number
  sessionKey: string
}

/** One pass over one partition. Throws `StoreDownError`. */
export async function sweepPartition(
  ledger: Ledger,
  partition: number,
  settings: SweepSettings,
  nowMs: number,
): Promise<SweepResult> {
  const { keys, redis } = ledger
  const expiry = keys.expiry(partition)
  const tombstones = keys.tombstones(partition)
  const { leaseMs, batchMax: limit } = settings
  const call = { expiry, tombstones, nowMs, leaseMs, limit }
  const due = await runScript(redis, expiredScript, call)
  const result: SweepResult = { expired: 0, moved: 0, forgotten: 0, corrupt: 0 }
  if (due.forgettable.length > 0) {
    const members = due.forgettable.flatMap((member) => {
      const parsed = parseMember(member)
      if (parsed === null) return []
      const { aid, sid, sessionKey } = parsed
      return [{ member, owner: keys.owner(aid, sid), sessionKey }]
    })
    const forget = { tombstones, score: nowMs + leaseMs, members }
    result.forgotten = await runScript(redis, forgetScript, forget)
  }
  const sessions = due.expired.flatMap((member) => parseMember(member) ?? [])
  for (const account of groupByAccount(sessions)) {
    await sweepAccount(ledger, account, settings, nowMs, result)
  }
  return result
}

function groupByAccount(due: readonly DueSession[]): DueSession[][] {
  const accounts = new Map<number, DueSession[]>()
  for (const session of due) {
    const known = accounts.get(session.aid)
    if (known === undefined) accounts.set(session.aid, [session])
    else known.push(session)
  }
  return [...accounts.values()].flatMap(inParts)
}

/** A script can hand on only so many values at once. */
const SESSIONS_PER_COMMIT_MAX = 500

function inParts(due: DueSession[]): DueSession[][] {
  const parts: DueSession[][] = []
  for (let at = 0; at < due.length; at += SESSIONS_PER_COMMIT_MAX) {
    parts.push(due.slice(at, at + SESSIONS_PER_COMMIT_MAX))
  }
  return parts
}

/** Expires the due sessions of one account. Upon a conflict the lease brings them back later. */
async function sweepAccount(
  ledger: Ledger,
  due: readonly DueSession[],
  settings: SweepSettings,
  nowMs: number,
  result: SweepResult,
): Promise<void> {
  const aid = due[0]?.aid ?? 0
  const [shared, ...owners] = await ledger.load([
    { aid, sid: 0, sessionKeys: [] },
    ...groupBySubscriber(due),
  ])
  if (shared === undefined || shared instanceof CorruptValueError) {
    result.corrupt += due.length
    return
  }
  const work = new AccountSweep(aid, shared.state, settings, nowMs)
  const wanted = groupBySubscriber(due)
  for (const [index, owner] of owners.entries()) {
    const sessionKeys = wanted[index]?.sessionKeys ?? []
    if (owner instanceof CorruptValueError) result.corrupt += sessionKeys.length
    else work.owner(owner, sessionKeys)
  }
  await work.reindex(ledger)
  result.moved += work.living.length
  result.corrupt += work.corrupt
  if (work.expired === 0) return
  const [reply] = await ledger.commit([work.commit()], nowMs)
  if (reply?.kind === 'committed') result.expired += work.expired
  if (reply?.kind === 'corrupt') result.corrupt += work.expired
}

function groupBySubscriber(due: readonly DueSession[]) {
  const wanted = new Map<number, { aid: number; sid: number; sessionKeys: string[] }>()
  for (const { aid, sid, sessionKey } of due) {
    const known = wanted.get(sid)
    if (known === undefined) wanted.set(sid, { aid, sid, sessionKeys: [sessionKey] })
    else known.sessionKeys.push(sessionKey)
  }
  return [...wanted.values()]
}

/** What the sweep does to one account, gathered for a single commit. */
class AccountSweep {
  expired = 0
  corrupt = 0
  /** Members to move to their real expiry, or (score 0) to drop: nothing stands behind them. */
  readonly living: { member: string; expiresMs: number }[] = []
  private readonly aid: number
  private shared: OwnerState
  private readonly sharedBefore: OwnerState
  private readonly settings: SweepSettings
  private readonly nowMs: number
  private readonly owners: AccountCommit['owners'] = []
  private readonly lines: Line[] = []

  constructor(aid: number, shared: OwnerState, settings: SweepSettings, nowMs: number) {
    this.aid = aid
    this.shared = shared
    this.sharedBefore = shared
    this.settings = settings
    this.nowMs = nowMs
  }

  owner(loaded: LoadedOwner, sessionKeys: readonly string[]): void {
    let subscriber = loaded.state
    const sessions: SessionCommit[] = []
    for (const [index, sessionKey] of sessionKeys.entries()) {
      const session = loaded.sessions[index] ?? null
      if (!this.isDue(session, subscriber.sid, sessionKey)) continue
      const expired = this.expire(subscriber, session, sessionKey)
      if (expired === null) continue
      subscriber = expired.subscriber
      this.shared = expired.account
      this.lines.push(...expired.lines)
      sessions.push({ sessionKey, session: expired.session, before: 'open' })
      this.expired += 1
    }
    if (sessions.length === 0) return
    const state = { ...subscriber, version: loaded.state.version + 1 }
    this.owners.push({ state, fence: -1, sessions })
  }

  /** Null for a session that does not agree with its owner: it must not keep the others waiting. */
  private expire(
    subscriber: OwnerState,
    session: Session,
    sessionKey: string,
  ): ExpiredSession | null {
    const { nowMs, shared: account } = this
    try {
      const expiring = { subscriber, account, session, sessionKey }
      return expireSession(expiring, nowMs, this.settings.replayMs)
    } catch {
      this.corrupt += 1
      return null
    }
  }

  private isDue(session: Session | null, sid: number, key: string): session is Session {
    if (session?.state === 'open' && session.expiresMs <= this.nowMs) return true
    const member = indexMember(this.aid, sid, key)
    const lives = session?.state === 'open'
    this.living.push({ member, expiresMs: lives ? session.expiresMs : 0 })
    return false
  }

  async reindex(ledger: Ledger): Promise<void> {
    if (this.living.length === 0) return
    const expiry = ledger.keys.expiry(ledger.keys.partitionOf(this.aid))
    const pipeline = ledger.redis.client.pipeline()
    for (const { member, expiresMs } of this.living) {
      // Only what is still there moves: the session may have been closed meanwhile.
      if (expiresMs > 0) pipeline.zadd(expiry, 'XX', expiresMs, member)
      else pipeline.zrem(expiry, member)
    }
    await ledger.redis.guard(pipeline.exec())
  }

  commit(): AccountCommit {
    const changed = !isUnchanged(this.sharedBefore, this.shared)
    const version = this.sharedBefore.version
    return {
      aid: this.aid,
      owners: this.owners,
      shared: {
        expectedVersion: version,
        state: changed ? { ...this.shared, version: version + 1 } : null,
      },
      claims: [],
      operation: null,
      lines: this.lines,
      wantsTurn: false,
    }
  }
}
