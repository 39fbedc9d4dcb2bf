/**
 * Ends the sessions that restarted clients have lost (RFC 6733 section 8.16), as the sweep does.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Session } from '../domain/session.ts'
import { forgetRestarts, pendingRestarts, type Restarts } from '../store/client-states.ts'
import type { Ledger } from './ledger.ts'
import { type LocatedSession, openSessionsIn } from './open-sessions.ts'
import { ContentionError } from './operations.ts'
import { CorruptValueError } from './owner-packing.ts'
import { type ReleaseSettings, releaseSession } from './release.ts'

/** Sessions that are ended concurrently: more would block Redis for charging. */
const CONCURRENCY = 16

export interface RestartOptions {
  settings: ReleaseSettings
  nowMs: () => number
  /** Called as soon as ended sessions are committed. */
  onExpired: (sessions: number) => void
  /** True if the process is stopping: the remaining sessions are left for the next run. */
  isStopping: () => boolean
}

/**
 * Scans all open sessions once if a client has restarted. Returns the number of ended sessions. A
 * contended or damaged session is left until it expires. Throws `StoreDownError`: then the next run
 * scans all sessions again.
 */
export async function endLostSessions(ledger: Ledger, options: RestartOptions): Promise<number> {
  const restarts = await pendingRestarts(ledger.redis)
  if (restarts.size === 0) return 0
  const isLost = lostBy(restarts)
  let ended = 0
  for (let partition = 0; partition < ledger.keys.partitions; partition += 1) {
    for await (const found of openSessionsIn(ledger, partition)) {
      if (options.isStopping()) return ended
      const lost = found.filter(({ session }) => isLost(session))
      for (let from = 0; from < lost.length; from += CONCURRENCY) {
        ended += await endAll(ledger, lost.slice(from, from + CONCURRENCY), isLost, options)
      }
      await delay(0)
    }
  }
  await forgetRestarts(ledger.redis, restarts)
  return ended
}

/** A session whose client has reported its new state since is kept. */
function lostBy(restarts: Restarts): (session: Session) => boolean {
  return ({ client }) => client !== null && client.stateId < (restarts.get(client.name) ?? 0)
}

async function endAll(
  ledger: Ledger,
  sessions: readonly LocatedSession[],
  isLost: (session: Session) => boolean,
  { settings, nowMs, onExpired }: RestartOptions,
): Promise<number> {
  const ends = sessions.map((session) => endOne(ledger, session, isLost, settings, nowMs()))
  const ended = (await Promise.all(ends)).filter((isEnded) => isEnded).length
  if (ended > 0) onExpired(ended)
  return ended
}

async function endOne(
  ledger: Ledger,
  session: LocatedSession,
  isLost: (session: Session) => boolean,
  settings: ReleaseSettings,
  nowMs: number,
): Promise<boolean> {
  try {
    return (await releaseSession(ledger, session, settings, nowMs, isLost)) !== null
  } catch (error) {
    if (error instanceof ContentionError || error instanceof CorruptValueError) return false
    throw error
  }
}
