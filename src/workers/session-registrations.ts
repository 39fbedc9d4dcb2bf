/** Session ids that turn out to be registered already. */
import { plainOutcome } from '../domain/charge-outcome.ts'
import { type ChargeRequest, isAmountRefund, opensSession } from '../domain/charge-request.ts'
import { FOREIGN_EVENT, findAnswer, sequenceErrorOf } from '../domain/replay.ts'
import {
  formatLocation,
  type Ledger,
  type RegisteredSession,
  type SessionLocation,
} from '../ledger/ledger.ts'
import { CorruptValueError } from '../ledger/owner-packing.ts'
import { StoreDownError } from '../store/redis.ts'
import type { PendingCharge } from './pending-charge.ts'

export interface RegistrationResolver {
  /**
   * Handles the items that registered this session id, and all others that register one, since the
   * ledger names only the first conflict. A session that lives in another account answers them;
   * otherwise they may take over the id. Answered items are removed from the list.
   */
  resolve(items: PendingCharge[], refused: RegisteredSession, nowMs: number): Promise<void>
}

export function createRegistrationResolver(ledger: Ledger): RegistrationResolver {
  return {
    async resolve(items, refused, nowMs) {
      const registered = [refused, ...(await existingSessions(ledger, items, refused.sessionKey))]
      await Promise.all(registered.map((existing) => resolveOne(ledger, items, existing, nowMs)))
    },
  }
}

/**
 * Whether the request registers its session with its subscriber. A refund belongs to an earlier
 * event, unless it states an amount.
 */
export function registersSession(request: ChargeRequest): boolean {
  return opensSession(request.kind) && (!request.refund || isAmountRefund(request))
}

/** Whether the session id is assumed to be new; the directory rejects it if it is not. */
export function isAssumedNew({ request, expectedLocation }: PendingCharge): boolean {
  return registersSession(request) && expectedLocation === ''
}

async function existingSessions(
  ledger: Ledger,
  items: readonly PendingCharge[],
  refusedKey: string,
): Promise<RegisteredSession[]> {
  const taken = items.filter(isAssumedNew).map((item) => item.sessionKey)
  const others = [...new Set(taken)].filter((sessionKey) => sessionKey !== refusedKey)
  if (others.length === 0) return []
  const locations = await ledger.findLocations(others)
  return others.flatMap((sessionKey, index) => {
    const location = locations[index] ?? null
    if (location instanceof StoreDownError) throw location
    return location === null ? [] : [{ sessionKey, location }]
  })
}

async function resolveOne(
  ledger: Ledger,
  items: PendingCharge[],
  { sessionKey, location }: RegisteredSession,
  nowMs: number,
): Promise<void> {
  const concerned = items.filter((item) => item.sessionKey === sessionKey)
  const isElsewhere = concerned.some((item) => formatLocation(item) !== formatLocation(location))
  const session = isElsewhere ? await loadSession(ledger, location, sessionKey) : null
  const lives = session !== null && (session.state === 'open' || nowMs < session.expiresMs)
  for (const item of concerned) {
    // From now on its session is read, and this location may be replaced.
    item.expectedLocation = formatLocation(location)
    if (!lives) continue
    const { request, digest } = item
    const answer = findAnswer(session, request, digest)
    const problem = request.refund ? FOREIGN_EVENT : sequenceErrorOf(session, request)
    if (answer === null && problem === null) continue
    item.resolve(answer ?? plainOutcome(problem?.reason ?? 'sessionClosed', problem?.detail, 0, 0))
    items.splice(items.indexOf(item), 1)
  }
}

async function loadSession(ledger: Ledger, location: SessionLocation, sessionKey: string) {
  const [loaded] = await ledger.load([{ ...location, sessionKeys: [sessionKey] }])
  if (loaded === undefined || loaded instanceof CorruptValueError) return null
  return loaded.sessions[0] ?? null
}
