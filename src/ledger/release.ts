/** Ends an open session immediately, as the sweep does with an expired one. */
import type { Session } from '../domain/session.ts'
import { AccountSweep } from './account-sweep.ts'
import { backoffHintMs } from './commit-layout.ts'
import type { Ledger } from './ledger.ts'
import type { LocatedSession } from './open-sessions.ts'
import { ContentionError } from './operations.ts'
import { CorruptValueError } from './owner-packing.ts'

export interface ReleaseSettings {
  attemptsMax: number
  replayMs: number
}

const BUSY_PAUSE_MS = 2

/**
 * Returns the reservations of the session to their buckets and ends its lines; usage that is
 * reported later is still settled. Returns the session as it was before, or null if it is not open
 * or `shouldEnd` rejects it: then nothing changes. Throws `ContentionError`, `CorruptValueError` or
 * `StoreDownError`; after a `StoreDownError` the session may have ended.
 */
export async function releaseSession(
  ledger: Ledger,
  session: LocatedSession,
  { attemptsMax, replayMs }: ReleaseSettings,
  nowMs: number,
  shouldEnd: (session: Session) => boolean = () => true,
): Promise<Session | null> {
  const { aid, sid, sessionKey } = session
  const queries = [
    { aid, sid: 0, sessionKeys: [] },
    { aid, sid, sessionKeys: [sessionKey] },
  ]
  // The time must advance while this waits: otherwise another worker's back-off hint would never
  // expire.
  let atMs = nowMs
  for (let attempt = 1; attempt <= attemptsMax; ) {
    const loaded = await ledger.load(queries)
    const damaged = loaded.find((owner) => owner instanceof CorruptValueError)
    if (damaged !== undefined) throw damaged
    const sweep = new AccountSweep([session], queries, loaded, replayMs, atMs, shouldEnd)
    if (sweep.corrupt.length > 0) throw new CorruptValueError('a session is damaged', { aid, sid })
    if (sweep.expired === 0) return null
    const [reply] = await ledger.commit([sweep.commit(backoffHintMs(attempt, attemptsMax))], atMs)
    switch (reply?.kind) {
      case 'committed':
        return sweep.released
      case 'conflict':
        attempt += 1
        break
      case 'busy':
        await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE_MS))
        atMs += BUSY_PAUSE_MS
        break
      case 'down':
        throw reply.error
      default:
        throw new CorruptValueError('an owner cannot be written', { aid, sid })
    }
  }
  throw new ContentionError('the account of the session is contended')
}
