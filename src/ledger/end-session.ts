/** An operator ends an open session: by its network element, or immediately. */

import type { Session } from '../domain/session.ts'
import { publishSessionEvent } from '../store/session-events.ts'
import type { Ledger } from './ledger.ts'
import { type FoundSession, findSession, findSessionsById } from './open-sessions.ts'
import { type ReleaseSettings, releaseSession } from './release.ts'

/** Only Diameter network elements accept requests from the node. */
const DIAMETER = 'diameter:'

/** Why a session cannot be ended. */
export type EndRefusal = 'unknown' | 'closed' | 'ambiguous' | 'unreachable' | 'not published'

/** Nothing was done, as far as is known. `origins`: of the sessions with this id. */
export class SessionEndError extends Error {
  override name = 'SessionEndError'
  readonly refusal: EndRefusal
  readonly origins: readonly string[]

  constructor(refusal: EndRefusal, text: string, origins: readonly string[] = []) {
    super(text)
    this.refusal = refusal
    this.origins = origins
  }
}

/**
 * The open session with this id; without `origin` all sessions are read. Throws `SessionEndError`,
 * `CorruptValueError` or `StoreDownError`.
 */
export async function sessionToEnd(
  ledger: Ledger,
  sessionId: string,
  origin: string | undefined,
): Promise<FoundSession> {
  const found =
    origin === undefined
      ? await findSessionsById(ledger, sessionId)
      : [await findSession(ledger, origin, sessionId)].filter((one) => one !== null)
  const open = found.filter(({ session }) => session.state === 'open')
  const [one, ...others] = open
  if (one !== undefined && others.length === 0) return one
  if (one !== undefined) {
    const origins = open.map(({ session }) => session.identity.origin).sort()
    const text = `session ${sessionId} is open under ${origins.join(' and ')}`
    throw new SessionEndError('ambiguous', text, origins)
  }
  if (found.length > 0) throw closedAlready(sessionId)
  const where = origin === undefined ? '' : ` of ${origin}`
  throw new SessionEndError('unknown', `there is no session ${sessionId}${where}`)
}

function closedAlready(sessionId: string): SessionEndError {
  return new SessionEndError('closed', `session ${sessionId} is closed already`)
}

/** Asks the network element to end it. Throws `SessionEndError`. */
export async function askToEnd(ledger: Ledger, { session }: FoundSession): Promise<void> {
  const { origin, sessionId } = session.identity
  if (!origin.startsWith(DIAMETER)) {
    const why = 'did not come over Diameter, so its network element cannot be asked to end it'
    throw new SessionEndError('unreachable', `session ${sessionId} of ${origin} ${why}`)
  }
  if (await publish(ledger, session)) return
  throw new SessionEndError('not published', 'redis did not accept the message')
}

export interface EndedSession {
  /** As it was before. */
  readonly session: Session
  /** Whether all nodes were notified to end it there; null if it did not come over Diameter. */
  readonly isPublished: boolean | null
}

/** Ends it in the ledger. Throws `SessionEndError`, and as `releaseSession`. */
export async function endNow(
  ledger: Ledger,
  found: FoundSession,
  settings: ReleaseSettings,
  nowMs: number,
): Promise<EndedSession> {
  const session = await releaseSession(ledger, found, settings, nowMs)
  if (session === null) throw closedAlready(found.session.identity.sessionId)
  if (!session.identity.origin.startsWith(DIAMETER)) return { session, isPublished: null }
  return { session, isPublished: await publish(ledger, session) }
}

function publish({ redis }: Ledger, { identity }: Session): Promise<boolean> {
  const { origin, sessionId } = identity
  return publishSessionEvent(redis, { cause: 'release', origin, sessionId })
}

/** The audit entry of a release. */
export function releaseEntry({ session }: FoundSession, isImmediate: boolean) {
  const { sessionId: key, origin, aid, sid } = session.identity
  const type = isImmediate ? 'release' : 'ask_to_end'
  return { collection: 'sessions', type, key, old: { origin, aid, sid } }
}
