/**
 * Owners as this worker last saw them. Nothing here has to be right: a commit compares versions,
 * and what turns out stale is replaced by what the ledger reports.
 */
import type { OwnerState } from '../domain/bucket.ts'
import type { Session } from '../domain/session.ts'
import type { Fence, LoadedOwner } from '../ledger/ledger.ts'
import { GenerationCache } from './generations.ts'

export interface CachedOwner {
  state: OwnerState
  fence: Fence
  /** Sessions by key, as of the state's version; null: known to be absent. */
  sessions: Map<string, Session | null>
}

/** Sessions kept of one owner; beyond that they are read again. */
export const SESSIONS_MAX = 1000

export class OwnerCache {
  private readonly owners: GenerationCache<string, CachedOwner>

  constructor(ownersMax: number) {
    this.owners = new GenerationCache(ownersMax)
  }

  get(aid: number, sid: number): CachedOwner | undefined {
    return this.owners.get(`${aid}:${sid}`)
  }

  /**
   * Takes what the ledger reported, with the sessions that were asked for. Whoever is done with it
   * trims it.
   */
  take(loaded: LoadedOwner, sessionKeys: readonly string[]): CachedOwner {
    const { aid, sid, version } = loaded.state
    const name = `${aid}:${sid}`
    const known = this.owners.get(name)
    const owner: CachedOwner =
      known !== undefined && known.state.version === version
        ? known
        : { state: loaded.state, fence: loaded.fence, sessions: new Map() }
    owner.fence = loaded.fence
    for (const [index, sessionKey] of sessionKeys.entries()) {
      owner.sessions.set(sessionKey, loaded.sessions[index] ?? null)
    }
    this.owners.set(name, owner)
    return owner
  }

  drop(aid: number, sid: number): void {
    this.owners.delete(`${aid}:${sid}`)
  }

  clear(): void {
    this.owners.clear()
  }
}

/** Forgets the sessions of an owner that has too many; never while something is decided on them. */
export function trimSessions(owner: CachedOwner): void {
  if (owner.sessions.size > SESSIONS_MAX) owner.sessions.clear()
}

/** Keeps what was committed: open sessions only, tombstones are not worth the room. */
export function keepSession(owner: CachedOwner, sessionKey: string, session: Session): void {
  if (session.state === 'open') owner.sessions.set(sessionKey, session)
  else owner.sessions.delete(sessionKey)
}
