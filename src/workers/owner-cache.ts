/**
 * Owners as last seen by this worker. Entries may be stale: a commit compares versions, and a stale
 * entry is replaced by the reply of the ledger.
 *
 * States and sessions are stored as the ledger packs them, outside V8's heap (slabs.ts), and
 * decoded for each attempt: as objects they would outlive it, and the garbage collector would copy
 * them.
 *
 * Grouped by account, because a request needs the subscriber and the shared buckets of its account.
 * Two generations like GenerationCache, but bounded by the number of owners. Each has slabs of its
 * own, which are dropped with it.
 */
import type { OwnerState } from '../domain/bucket.ts'
import type { Session } from '../domain/session.ts'
import type { PackedStates } from '../ledger/commit-layout.ts'
import type { Fence, LoadedOwner } from '../ledger/ledger.ts'
import { packOwner, readOwner } from '../ledger/owner-packing.ts'
import { Reader } from '../ledger/reader.ts'
import { packSession, readSession } from '../ledger/session-packing.ts'
import { Slabs } from './slabs.ts'

/** In place of a slot: the session is known to be absent. */
const ABSENT = -1

/** Each value is read at once. */
const reader = new Reader(Buffer.alloc(0))

export class CachedOwner {
  readonly aid: number
  readonly sid: number
  fence: Fence
  #version: number
  #slabs: Slabs
  /** Slot of the state. */
  #state: number
  /** Slots of sessions by key, at the version of the state; null before the first session. */
  #sessions: Map<string, number> | null = null

  constructor({ state, fence }: LoadedOwner, slabs: Slabs) {
    this.aid = state.aid
    this.sid = state.sid
    this.fence = fence
    this.#version = state.version
    this.#slabs = slabs
    const packed = packOwner(state)
    this.#state = slabs.add(packed, 0, packed.length)
  }

  get version(): number {
    return this.#version
  }

  get sessionCount(): number {
    return this.#sessions === null ? 0 : this.#sessions.size
  }

  /** A copy of the state. */
  state(): OwnerState {
    this.#slabs.open(this.#state, reader)
    return readOwner(this.aid, this.sid, reader)
  }

  hasSession(sessionKey: string): boolean {
    return this.#sessions?.has(sessionKey) === true
  }

  /** A copy of a session; null if it is absent or not cached. */
  session(sessionKey: string): Session | null {
    const slot = this.#sessions?.get(sessionKey) ?? ABSENT
    if (slot === ABSENT) return null
    this.#slabs.open(slot, reader)
    return readSession(this.aid, this.sid, sessionKey, reader)
  }

  takeSession(sessionKey: string, session: Session | null): void {
    if (session === null) {
      this.dropSession(sessionKey)
      this.#sessions ??= new Map()
      this.#sessions.set(sessionKey, ABSENT)
      return
    }
    const packed = packSession(session)
    this.#keepSession(sessionKey, packed, 0, packed.length)
  }

  /** Takes the next packed state from a commit that succeeded. */
  acceptState(version: number, packed: PackedStates): void {
    const { bytes, from, end } = packed.next()
    this.#version = version
    this.#state = this.#slabs.replace(this.#state, bytes, from, end)
  }

  /** Takes the next packed session from a commit; tombstones are dropped. */
  acceptSession(sessionKey: string, { state }: Session, packed: PackedStates): void {
    const { bytes, from, end } = packed.next()
    if (state === 'open') this.#keepSession(sessionKey, bytes, from, end)
    else this.dropSession(sessionKey)
  }

  dropSession(sessionKey: string): void {
    const slot = this.#sessions?.get(sessionKey)
    if (slot === undefined) return
    if (slot !== ABSENT) this.#slabs.free(slot)
    this.#sessions?.delete(sessionKey)
  }

  /** Drops the sessions if there are too many; not while requests are decided on them. */
  trimSessions(): void {
    if (this.#sessions === null || this.#sessions.size <= SESSIONS_MAX) return
    for (const slot of this.#sessions.values()) if (slot !== ABSENT) this.#slabs.free(slot)
    this.#sessions = null
  }

  /** Moves the values to other slabs, as the cache drops its own with a generation. */
  moveTo(slabs: Slabs): void {
    if (slabs === this.#slabs) return
    this.#state = this.#slabs.move(this.#state, slabs)
    if (this.#sessions !== null) {
      for (const [sessionKey, slot] of this.#sessions) {
        if (slot !== ABSENT) this.#sessions.set(sessionKey, this.#slabs.move(slot, slabs))
      }
    }
    this.#slabs = slabs
  }

  #keepSession(sessionKey: string, bytes: Buffer, from: number, end: number): void {
    this.#sessions ??= new Map()
    const slot = this.#sessions.get(sessionKey)
    if (slot === undefined || slot === ABSENT) {
      this.#sessions.set(sessionKey, this.#slabs.add(bytes, from, end))
      return
    }
    const kept = this.#slabs.replace(slot, bytes, from, end)
    if (kept !== slot) this.#sessions.set(sessionKey, kept)
  }
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
/** When values of owners that are no longer cached get new slabs. */
const DETACHED_SLABS_MAX = 32

export class OwnerCache {
  #young = new Map<number, CachedAccount>()
  #old = new Map<number, CachedAccount>()
  /** Values of the young generation. */
  #slabs = new Slabs()
  /** Values of owners that are no longer cached. */
  #detached = new Slabs()
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
    const isCurrent = known !== undefined && known.version === version
    const owner = isCurrent ? known : new CachedOwner(loaded, this.#slabs)
    owner.fence = loaded.fence
    for (const [index, sessionKey] of sessionKeys.entries()) {
      owner.takeSession(sessionKey, loaded.sessions[index] ?? null)
    }
    if (!isCurrent) this.#set(aid, sid, owner)
    return owner
  }

  drop(aid: number, sid: number): void {
    const account = this.account(aid)
    if (account === undefined) return
    const dropped = ownerIn(account, sid)
    if (dropped === undefined) return
    const before = sizeOf(account)
    if (sid === 0) account.shared = undefined
    else if (dropped === account.first) account.first = undefined
    else account.others?.delete(sid)
    this.#youngOwners += sizeOf(account) - before
    this.#detach(dropped)
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
    this.#youngOwners = 0
    this.#slabs = new Slabs()
  }

  #set(aid: number, sid: number, owner: CachedOwner): void {
    const known = this.account(aid)
    const account = known ?? { shared: undefined, first: undefined, others: null }
    const before = sizeOf(account)
    const replaced = ownerIn(account, sid)
    if (replaced !== undefined) this.#detach(replaced)
    if (sid === 0) account.shared = owner
    else if (replaced === account.first) account.first = owner
    else {
      account.others ??= new Map()
      if (account.others.size >= OWNERS_PER_ACCOUNT_MAX) {
        for (const other of account.others.values()) this.#detach(other)
        account.others.clear()
      }
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
      this.#slabs = new Slabs()
    }
    for (const owner of ownersOf(account)) owner.moveTo(this.#slabs)
    this.#youngOwners += sizeOf(account)
    this.#young.set(aid, account)
  }

  /** A batch may still use an owner that is no longer cached, so its values stay readable. */
  #detach(owner: CachedOwner): void {
    if (this.#detached.slabCount > DETACHED_SLABS_MAX) this.#detached = new Slabs()
    owner.moveTo(this.#detached)
  }
}

export function ownerIn(account: CachedAccount, sid: number): CachedOwner | undefined {
  if (sid === 0) return account.shared
  const { first, others } = account
  if (first !== undefined && first.sid === sid) return first
  return others === null ? undefined : others.get(sid)
}

function sizeOf({ shared, first, others }: CachedAccount): number {
  const one = (shared === undefined ? 0 : 1) + (first === undefined ? 0 : 1)
  return others === null ? one : one + others.size
}

function* ownersOf({ shared, first, others }: CachedAccount): Generator<CachedOwner> {
  if (shared !== undefined) yield shared
  if (first !== undefined) yield first
  if (others !== null) yield* others.values()
}
