/**
 * Owners as last seen by this worker. Entries may be stale: a commit compares versions, and a stale
 * entry is replaced by the reply of the ledger.
 *
 * Grouped by account, because a request needs the subscriber and the shared buckets of its account.
 * Two generations like GenerationCache, but bounded by the number of owners.
 */
import type { OwnerState } from '../domain/bucket.ts'
import type { Session } from '../domain/session.ts'
import type { Fence, LoadedOwner } from '../ledger/ledger.ts'

export interface CachedOwner {
  state: OwnerState
  fence: Fence
  /** Sessions by key, at the version of the state; null if known to be absent. */
  sessions: Map<string, Session | null>
}

interface CachedAccount {
  shared: CachedOwner | undefined
  /** Most accounts have one subscriber. */
  first: CachedOwner | undefined
  others: Map<number, CachedOwner> | null
}

/** Maximum number of cached sessions per owner. */
export const SESSIONS_MAX = 1000
/** Maximum number of cached subscribers per account. */
const OWNERS_PER_ACCOUNT_MAX = 10_000

export class OwnerCache {
  #young = new Map<number, CachedAccount>()
  #old = new Map<number, CachedAccount>()
  /** Number of owners in the young generation. */
  #youngOwners = 0
  readonly #generationMax: number

  constructor(ownersMax: number) {
    this.#generationMax = Math.max(1, Math.ceil(ownersMax / 2))
  }

  account(aid: number): CachedAccount | undefined {
    const account = this.#young.get(aid)
    if (account !== undefined) return account
    const older = this.#old.get(aid)
    if (older === undefined) return undefined
    this.#old.delete(aid)
    this.#keep(aid, older)
    return older
  }

  get(aid: number, sid: number): CachedOwner | undefined {
    const account = this.account(aid)
    return account === undefined ? undefined : ownerIn(account, sid)
  }

  /** Caches a loaded owner with the requested sessions. The caller trims the sessions later. */
  take(loaded: LoadedOwner, sessionKeys: readonly string[]): CachedOwner {
    const { aid, sid, version } = loaded.state
    const known = this.get(aid, sid)
    const owner: CachedOwner =
      known !== undefined && known.state.version === version
        ? known
        : { state: loaded.state, fence: loaded.fence, sessions: new Map() }
    owner.fence = loaded.fence
    for (const [index, sessionKey] of sessionKeys.entries()) {
      owner.sessions.set(sessionKey, loaded.sessions[index] ?? null)
    }
    if (owner !== known) this.#set(aid, sid, owner)
    return owner
  }

  drop(aid: number, sid: number): void {
    const account = this.account(aid)
    if (account === undefined) return
    const before = sizeOf(account)
    if (sid === 0) account.shared = undefined
    else if (account.first?.state.sid === sid) account.first = undefined
    else account.others?.delete(sid)
    this.#youngOwners += sizeOf(account) - before
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
    this.#youngOwners = 0
  }

  #set(aid: number, sid: number, owner: CachedOwner): void {
    const known = this.account(aid)
    const account = known ?? { shared: undefined, first: undefined, others: null }
    const before = sizeOf(account)
    if (sid === 0) account.shared = owner
    else if (account.first === undefined && !account.others?.has(sid)) account.first = owner
    else if (account.first?.state.sid === sid) account.first = owner
    else {
      account.others ??= new Map()
      if (account.others.size >= OWNERS_PER_ACCOUNT_MAX) account.others.clear()
      account.others.set(sid, owner)
    }
    if (known === undefined) this.#keep(aid, account)
    else this.#youngOwners += sizeOf(account) - before
  }

  /** Adds an account to the young generation. */
  #keep(aid: number, account: CachedAccount): void {
    if (this.#youngOwners >= this.#generationMax) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngOwners = 0
    }
    this.#youngOwners += sizeOf(account)
    this.#young.set(aid, account)
  }
}

export function ownerIn(account: CachedAccount, sid: number): CachedOwner | undefined {
  if (sid === 0) return account.shared
  const { first, others } = account
  if (first !== undefined && first.state.sid === sid) return first
  return others === null ? undefined : others.get(sid)
}

function sizeOf({ shared, first, others }: CachedAccount): number {
  const one = (shared === undefined ? 0 : 1) + (first === undefined ? 0 : 1)
  return others === null ? one : one + others.size
}

/** Drops the sessions of an owner that has too many; not while requests are decided on them. */
export function trimSessions(owner: CachedOwner): void {
  if (owner.sessions.size > SESSIONS_MAX) owner.sessions.clear()
}

/** Caches a committed session if it is open; tombstones are dropped. */
export function keepSession(owner: CachedOwner, sessionKey: string, session: Session): void {
  if (session.state === 'open') owner.sessions.set(sessionKey, session)
  else owner.sessions.delete(sessionKey)
}
