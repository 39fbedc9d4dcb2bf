/** Sweeps one account: its due sessions expire in a single commit. Pure. */
import { isUnchanged, type OwnerState } from '../domain/bucket.ts'
import { expireSession } from '../domain/expire.ts'
import type { Line } from '../domain/line.ts'
import type { Session } from '../domain/session.ts'
import type { AccountCommit, SessionCommit } from './commit-layout.ts'
import type { LoadedOwner, OwnerQuery } from './ledger.ts'
import { CorruptValueError } from './owner-packing.ts'

export interface DueSession {
  aid: number
  sid: number
  sessionKey: string
}

export class AccountSweep {
  readonly due: DueSession[]
  expired = 0
  /** Sessions that are damaged or whose owner is damaged. */
  readonly corrupt: DueSession[] = []
  /** Sessions that are not due, and when they expire; 0 if the session does not exist. */
  readonly notDue: { session: DueSession; expiresMs: number }[] = []
  #shared: OwnerState | null = null
  #sharedBefore: OwnerState | null = null
  /** The session before it expired; the last one if there are several. */
  released: Session | null = null
  readonly #replayMs: number
  readonly #nowMs: number
  readonly #shouldEnd: ((session: Session) => boolean) | null
  readonly #owners: AccountCommit['owners'] = []
  readonly #lines: Line[] = []

  /**
   * `queries` and `loaded` have the shared owner first, then the subscribers. `shouldEnd` selects
   * the open sessions that expire; without it those that are due.
   */
  constructor(
    due: DueSession[],
    queries: readonly OwnerQuery[],
    loaded: readonly (LoadedOwner | CorruptValueError)[],
    replayMs: number,
    nowMs: number,
    shouldEnd: ((session: Session) => boolean) | null = null,
  ) {
    this.due = due
    this.#shouldEnd = shouldEnd
    this.#replayMs = replayMs
    this.#nowMs = nowMs
    const [shared] = loaded
    if (shared === undefined || shared instanceof CorruptValueError) {
      this.corrupt.push(...due)
      return
    }
    this.#shared = shared.state
    this.#sharedBefore = shared.state
    for (const [index, { aid, sid, sessionKeys }] of queries.entries()) {
      const owner = loaded[index]
      if (index === 0 || owner === undefined) continue
      const sessions = sessionKeys.map((sessionKey) => ({ aid, sid, sessionKey }))
      if (owner instanceof CorruptValueError) this.corrupt.push(...sessions)
      else this.#sweepOwner(owner, sessions)
    }
  }

  #sweepOwner(loaded: LoadedOwner, due: readonly DueSession[]): void {
    let subscriber = loaded.state
    const sessions: SessionCommit[] = []
    for (const [index, one] of due.entries()) {
      const session = loaded.sessions[index] ?? null
      if (session?.state !== 'open' || !this.#isDue(session)) {
        const expiresMs = session?.state === 'open' ? session.expiresMs : 0
        this.notDue.push({ session: one, expiresMs })
        continue
      }
      const expired = this.#expire(subscriber, session, one)
      if (expired === null) continue
      subscriber = expired.subscriber
      sessions.push({ sessionKey: one.sessionKey, session: expired.session, before: 'open' })
      this.expired += 1
      this.released = session
    }
    if (sessions.length === 0) return
    const state = { ...subscriber, version: loaded.state.version + 1 }
    this.#owners.push({ state, fence: -1, sessions })
  }

  #isDue(session: Session): boolean {
    return this.#shouldEnd === null ? session.expiresMs <= this.#nowMs : this.#shouldEnd(session)
  }

  /**
   * Null if the session contradicts its owner: it must not keep the other sessions from expiring.
   */
  #expire(subscriber: OwnerState, session: Session, due: DueSession) {
    if (this.#shared === null) return null
    try {
      const { sessionKey } = due
      const expiring = { subscriber, account: this.#shared, session, sessionKey }
      const expired = expireSession(expiring, this.#nowMs, this.#replayMs)
      this.#shared = expired.account
      this.#lines.push(...expired.lines)
      return expired
    } catch {
      this.corrupt.push(due)
      return null
    }
  }

  commit(backoffHintMs: number): AccountCommit {
    const shared = this.#shared
    const sharedBefore = this.#sharedBefore
    const isSame = shared === null || sharedBefore === null || isUnchanged(sharedBefore, shared)
    const version = sharedBefore?.version ?? -1
    return {
      aid: this.due[0]?.aid ?? 0,
      owners: this.#owners,
      shared: {
        expectedVersion: version,
        state: isSame ? null : { ...shared, version: version + 1 },
      },
      registrations: [],
      operation: null,
      lines: this.#lines,
      backoffHintMs,
    }
  }
}
