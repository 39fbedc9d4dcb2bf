/**
 * The sweep: gives back what abandoned sessions hold, and forgets tombstones whose time is over.
 * Any number of processes may sweep: a lease per partition and batch keeps them apart, the commit
 * by version keeps them right, also when a lease was lost.
 */
import { present } from '../domain/assert.ts'
import { AccountSweep, type DueSession } from './account-sweep.ts'
import { indexMember, parseMember } from './keys.ts'
import type { CommitReply, Ledger } from './ledger.ts'
import { runScript } from './script.ts'
import { expiredScript, forgetScript, reindexScript } from './scripts.ts'

export interface SweepSettings {
  /** Most sessions and tombstones of one partition at once. */
  batchMax: number
  /** Longer than a batch takes. What could not be swept comes due again after so long. */
  leaseMs: number
  replayMs: number
  /** Tells this sweeper from all others. */
  token: string
  /** Told of sessions as soon as they are written: what comes later in the batch may fail. */
  onExpired?: (sessions: number) => void
}

export interface SweepResult {
  /** `more`: as much was due as a batch takes. `taken`: another sweeper is there. */
  status: 'done' | 'more' | 'taken'
  expired: number
  /** Sessions that had lived on and were put back in their place. */
  moved: number
  forgotten: number
  /**
   * Sessions that are damaged, or their owner is; they stay, and come due again after the lease.
   */
  corrupt: number
}

/** What one script call reads or writes: Redis must not be held up while it charges. */
const ACCOUNTS_PER_CALL_MAX = 64
const SESSIONS_PER_CALL_MAX = 500
/** Upon a conflict the account is settled again, from the second time on with the turn. */
const ATTEMPTS_MAX = 4

/** One batch of one partition. Throws `StoreDownError`; then the lease ends by itself. */
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
  /** Members of the expiry index that stay, and where; score 0 for what has nothing behind it. */
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
    const odd: { member: string; score: number }[] = []
    const members = forgettable.flatMap((member) => {
      const parsed = parseMember(member)
      if (parsed === null) odd.push({ member, score: this.#laterMs() })
      if (parsed === null) return []
      const { aid, sid, sessionKey } = parsed
      return [{ member, owner: ledger.keys.owner(aid, sid), sessionKey }]
    })
    const call = { tombstones, nowMs, members }
    this.result.forgotten = await runScript(ledger.redis, forgetScript, call)
    if (odd.length === 0) return
    const moving = { index: tombstones, lease: this.#lease, nowMs, token: '', members: odd }
    await runScript(ledger.redis, reindexScript, moving)
  }

  /** Until each account is committed, or has lost to live traffic too often. */
  async #sweepAccounts(accounts: readonly DueSession[][]): Promise<void> {
    let left = accounts
    for (let attempt = 1; left.length > 0 && attempt <= ATTEMPTS_MAX; attempt += 1) {
      left = await this.#attempt(left, attempt > 1)
    }
    for (const due of left) this.#postpone(due)
  }

  /** Two script calls. Gives the accounts that somebody else has written meanwhile. */
  async #attempt(
    accounts: readonly DueSession[][],
    setsBackoffHint: boolean,
  ): Promise<DueSession[][]> {
    const ledger = this.#ledger
    const nowMs = this.#nowMs
    const settings = this.#settings
    const wanted = accounts.map(ownersOf)
    const loaded = await ledger.load(wanted.flat())
    let at = 0
    const works = accounts.map((due, index) => {
      const owners = present(wanted[index], 'owners of an account')
      const states = loaded.slice(at, at + owners.length)
      at += owners.length
      return new AccountSweep(due, owners, states, settings.replayMs, nowMs)
    })
    const writing = works.filter((work) => work.expired > 0)
    const commits = writing.map((work) => work.commit(setsBackoffHint))
    const replies = commits.length === 0 ? [] : await ledger.commit(commits, nowMs)
    const again: DueSession[][] = []
    for (const work of works) {
      const reply = replies[writing.indexOf(work)] ?? null
      if (!this.#applyReply(work, reply)) again.push(work.due)
    }
    return again
  }

  /** Counts what became of an account; false if it has to be settled again. */
  #applyReply(work: AccountSweep, reply: CommitReply | null): boolean {
    const { result } = this
    if (reply !== null && reply.kind !== 'committed' && reply.kind !== 'corrupt') return false
    if (reply?.kind === 'committed') {
      result.expired += work.expired
      this.#settings.onExpired?.(work.expired)
    }
    if (reply?.kind === 'corrupt') {
      result.corrupt += work.expired
      this.#postpone(work.due)
      return true
    }
    result.corrupt += work.corrupt.length
    result.moved += work.notDue.length
    this.#postpone(work.corrupt)
    for (const { session, expiresMs } of work.notDue) {
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

/** The accounts of each call: few enough, and none in it twice. */
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
    const known = accounts.get(session.aid)
    if (known === undefined) accounts.set(session.aid, [session])
    else known.push(session)
  }
  return [...accounts.values()]
}

/** The account's shared buckets first, then its subscribers with their sessions. */
function ownersOf(due: readonly DueSession[]) {
  const wanted = new Map<number, { aid: number; sid: number; sessionKeys: string[] }>()
  const aid = due[0]?.aid ?? 0
  wanted.set(0, { aid, sid: 0, sessionKeys: [] })
  for (const { sid, sessionKey } of due) {
    const known = wanted.get(sid)
    if (known === undefined) wanted.set(sid, { aid, sid, sessionKeys: [sessionKey] })
    else known.sessionKeys.push(sessionKey)
  }
  return [...wanted.values()]
}
