/**
 * The sweep: returns the reservations of expired sessions and removes old tombstones. Any number
 * of processes may sweep: a lease per partition and batch avoids duplicate work, and the versioned
 * commit keeps the result correct even if a lease is lost.
 */
import { present } from '../domain/assert.ts'
import { AccountSweep, type DueSession } from './account-sweep.ts'
import { backoffHintMs } from './commit-layout.ts'
import { indexMember, parseMember, sessionField } from './keys.ts'
import type { CommitReply, Ledger } from './ledger.ts'
import { runScript } from './script.ts'
import { expiredScript, forgetScript, reindexScript } from './scripts.ts'

export interface SweepSettings {
  /** Maximum number of sessions and of tombstones in one batch of a partition. */
  batchMax: number
  /** Longer than a batch takes. Sessions that could not be swept are due again after this time. */
  leaseMs: number
  replayMs: number
  /** Unique for each sweeper. */
  token: string
  /** Called as soon as expired sessions are committed: a later part of the batch may fail. */
  onExpired?: (sessions: number) => void
}

export interface SweepResult {
  /** `more`: the batch was full. `taken`: another sweeper has the lease. */
  status: 'done' | 'more' | 'taken'
  expired: number
  /** Sessions that are not due any more and were moved in the index. */
  moved: number
  forgotten: number
  /**
   * Sessions that are damaged or whose owner is damaged. They stay in the index and are due again
   * after the lease.
   */
  corrupt: number
}

/** Limits of one script call: a longer one would block Redis for charging. */
const ACCOUNTS_PER_CALL_MAX = 64
const SESSIONS_PER_CALL_MAX = 500
/**
 * After a conflict the account is settled again, from the second attempt on with a back-off hint.
 */
const ATTEMPTS_MAX = 4

/** Sweeps one batch of a partition. Throws `StoreDownError`; the lease then expires by itself. */
export async function sweepPartition(
  ledger: Ledger,
  partition: number,
  settings: SweepSettings,
  nowMs: number,
): Promise<SweepResult> {
  const batch = new Batch(ledger, partition, settings, nowMs)
  await batch.run()
  return batch.result
}

class Batch {
  readonly result: SweepResult = { status: 'done', expired: 0, moved: 0, forgotten: 0, corrupt: 0 }
  /**
   * Members that remain in the expiry index, with their new scores; score 0 removes the entry of a
   * session that does not exist.
   */
  readonly #remaining: { member: string; score: number }[] = []
  readonly #ledger: Ledger
  readonly #partition: number
  readonly #settings: SweepSettings
  readonly #nowMs: number
  readonly #lease: string

  constructor(ledger: Ledger, partition: number, settings: SweepSettings, nowMs: number) {
    this.#ledger = ledger
    this.#partition = partition
    this.#settings = settings
    this.#nowMs = nowMs
    this.#lease = ledger.keys.sweepLease(partition)
  }

  async run(): Promise<void> {
    const { result } = this
    const nowMs = this.#nowMs
    const lease = this.#lease
    const { keys, redis } = this.#ledger
    const { leaseMs, batchMax: limit, token } = this.#settings
    const expiry = keys.expiry(this.#partition)
    const tombstones = keys.tombstones(this.#partition)
    const call = { expiry, tombstones, lease, nowMs, leaseMs, limit, token }
    const due = await runScript(redis, expiredScript, call)
    if (due === null) {
      result.status = 'taken'
      return
    }
    const { expired, forgettable } = due
    if (expired.length + forgettable.length === 0) return
    if (Math.max(expired.length, forgettable.length) >= limit) result.status = 'more'
    if (forgettable.length > 0) await this.#forget(tombstones, forgettable)
    for (const accounts of callsFor(expired.flatMap((member) => this.#parse(member)))) {
      await this.#sweepAccounts(accounts)
    }
    const members = this.#remaining
    await runScript(redis, reindexScript, { index: expiry, lease, nowMs, token, members })
  }

  #parse(member: string): DueSession[] {
    const parsed = parseMember(member)
    if (parsed !== null) return [parsed]
    this.#remaining.push({ member, score: this.#laterMs() })
    return []
  }

  async #forget(tombstones: string, forgettable: readonly string[]): Promise<void> {
    const nowMs = this.#nowMs
    const ledger = this.#ledger
    const invalid: { member: string; score: number }[] = []
    const members = forgettable.flatMap((member) => {
      const parsed = parseMember(member)
      if (parsed === null) invalid.push({ member, score: this.#laterMs() })
      if (parsed === null) return []
      const { aid, sid, sessionKey } = parsed
      const field = sessionField(sid, sessionKey)
      return [{ member, account: ledger.keys.account(aid), field }]
    })
    const expiry = ledger.keys.expiry(this.#partition)
    const call = { tombstones, expiry, nowMs, members }
    this.result.forgotten = await runScript(ledger.redis, forgetScript, call)
    if (invalid.length === 0) return
    const reindex = { index: tombstones, lease: this.#lease, nowMs, token: '', members: invalid }
    await runScript(ledger.redis, reindexScript, reindex)
  }

  /**
   * Retries until each account is committed; an account in conflict with live traffic is postponed.
   */
  async #sweepAccounts(accounts: readonly DueSession[][]): Promise<void> {
    let remaining = accounts
    for (let attempt = 1; remaining.length > 0 && attempt <= ATTEMPTS_MAX; attempt += 1) {
      remaining = await this.#attempt(remaining, backoffHintMs(attempt + 1, ATTEMPTS_MAX + 1))
    }
    for (const due of remaining) this.#postpone(due)
  }

  /** Makes two script calls. Returns the accounts that another process has written meanwhile. */
  async #attempt(accounts: readonly DueSession[][], hintMs: number): Promise<DueSession[][]> {
    const ledger = this.#ledger
    const nowMs = this.#nowMs
    const settings = this.#settings
    const queries = accounts.map(ownersOf)
    const loaded = await ledger.load(queries.flat())
    let at = 0
    const sweeps = accounts.map((due, index) => {
      const owners = present(queries[index], 'owners of an account')
      const states = loaded.slice(at, at + owners.length)
      at += owners.length
      return new AccountSweep(due, owners, states, settings.replayMs, nowMs)
    })
    const writing = sweeps.filter((sweep) => sweep.expired > 0)
    const commits = writing.map((sweep) => sweep.commit(hintMs))
    const replies = commits.length === 0 ? [] : await ledger.commit(commits, nowMs)
    const conflicting: DueSession[][] = []
    for (const sweep of sweeps) {
      const reply = replies[writing.indexOf(sweep)] ?? null
      if (!this.#applyReply(sweep, reply)) conflicting.push(sweep.due)
    }
    return conflicting
  }

  /** Evaluates the commit of an account; false if the account has to be settled again. */
  #applyReply(sweep: AccountSweep, reply: CommitReply | null): boolean {
    const { result } = this
    if (reply !== null && reply.kind !== 'committed' && reply.kind !== 'corrupt') return false
    if (reply?.kind === 'committed') {
      result.expired += sweep.expired
      this.#settings.onExpired?.(sweep.expired)
    }
    if (reply?.kind === 'corrupt') {
      result.corrupt += sweep.expired
      this.#postpone(sweep.due)
      return true
    }
    result.corrupt += sweep.corrupt.length
    result.moved += sweep.notDue.length
    this.#postpone(sweep.corrupt)
    for (const { session, expiresMs } of sweep.notDue) {
      this.#remaining.push({ member: memberOf(session), score: expiresMs })
    }
    return true
  }

  #postpone(due: readonly DueSession[]): void {
    for (const session of due) {
      this.#remaining.push({ member: memberOf(session), score: this.#laterMs() })
    }
  }

  #laterMs(): number {
    return this.#nowMs + this.#settings.leaseMs
  }
}

function memberOf({ aid, sid, sessionKey }: DueSession): string {
  return indexMember(aid, sid, sessionKey)
}

/** Splits the sessions into calls within the limits; no account occurs twice in a call. */
function callsFor(due: readonly DueSession[]): DueSession[][][] {
  const calls: DueSession[][][] = []
  let sessions = 0
  for (const account of groupByAccount(due)) {
    for (let from = 0; from < account.length; from += SESSIONS_PER_CALL_MAX) {
      const part = account.slice(from, from + SESSIONS_PER_CALL_MAX)
      const isFull = calls.at(-1)?.length === ACCOUNTS_PER_CALL_MAX
      sessions += part.length
      if (calls.length > 0 && !isFull && sessions <= SESSIONS_PER_CALL_MAX) {
        calls.at(-1)?.push(part)
        continue
      }
      calls.push([part])
      sessions = part.length
    }
  }
  return calls
}

function groupByAccount(due: readonly DueSession[]): DueSession[][] {
  const accounts = new Map<number, DueSession[]>()
  for (const session of due) {
    const existing = accounts.get(session.aid)
    if (existing === undefined) accounts.set(session.aid, [session])
    else existing.push(session)
  }
  return [...accounts.values()]
}

/** The shared owner first, then the subscribers with their sessions. */
function ownersOf(due: readonly DueSession[]) {
  const queries = new Map<number, { aid: number; sid: number; sessionKeys: string[] }>()
  const aid = due[0]?.aid ?? 0
  queries.set(0, { aid, sid: 0, sessionKeys: [] })
  for (const { sid, sessionKey } of due) {
    const existing = queries.get(sid)
    if (existing === undefined) queries.set(sid, { aid, sid, sessionKeys: [sessionKey] })
    else existing.sessionKeys.push(sessionKey)
  }
  return [...queries.values()]
}
