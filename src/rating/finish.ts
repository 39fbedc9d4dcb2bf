/** Completes a request: updates its session, and computes the validity of its grants. */
import type { ChargeOutcome } from '../domain/charge-outcome.ts'
import type { AfterBoundary } from '../domain/charge-program.ts'
import type { ChargeRequest, CreditControlClient } from '../domain/charge-request.ts'
import { addAnswer, RECORD_REPLAY_MS } from '../domain/replay.ts'
import type { Session } from '../domain/session.ts'
import type { ChargeContext, IdentifiedRequest } from './decision.ts'

/** Changes the session. `refused`: a request that would have opened it was denied. */
export function finishSession(
  session: Session,
  { request, digest }: IdentifiedRequest,
  outcome: ChargeOutcome,
  refused: boolean,
  { settings, nowMs }: ChargeContext,
): void {
  const { kind, requestNumber, isRecord = false } = request
  session.processed += 1
  session.client = latestClient(session.client, request.client)
  if (requestNumber >= 0) session.lastNumber = requestNumber
  const answer = { requestNumber, digest, count: session.processed, outcome }
  session.answered = addAnswer(session.answered, answer)
  if (refused) session.state = 'denied'
  else if (kind === 'release' || kind === 'event') session.state = 'closed'
  const open = session.state === 'open'
  const livesUntilMs = nowMs + settings.validityMs + settings.graceMs
  // If the clock was set back when the thread started, an earlier grant must not be shortened.
  if (open) session.expiresMs = Math.max(session.expiresMs, livesUntilMs)
  else {
    const { replayMs } = settings
    session.expiresMs = nowMs + (isRecord ? Math.min(replayMs, RECORD_REPLAY_MS) : replayMs)
  }
  // Usage reported after expiry and refunds of an event need the services.
  const isNeeded = open || session.state === 'expired' || (kind === 'event' && !isRecord)
  if (!isNeeded || refused) session.services = []
}

/** A delayed request does not replace a newer state of its client. */
function latestClient(
  known: CreditControlClient | null,
  client: CreditControlClient | null | undefined,
): CreditControlClient | null {
  if (client === null || client === undefined) return known
  const isOlder = known?.name === client.name && known.stateId > client.stateId
  return isOlder ? known : client
}

/** Validity of a grant in ms, whole seconds and at least one. */
export function validityOf(
  untilMs: number,
  { eventTimeMs }: ChargeRequest,
  { settings }: ChargeContext,
): number {
  const left = Math.min(settings.validityMs, untilMs - eventTimeMs)
  return Math.max(1000, Math.floor(left / 1000) * 1000)
}

/** Epoch ms of a tariff change within the validity of a grant; 0 if none occurs. */
export function tariffChangeOf(
  after: AfterBoundary | null,
  { eventTimeMs }: ChargeRequest,
  { settings }: ChargeContext,
): number {
  if (after === null) return 0
  return after.fromMs - eventTimeMs <= settings.validityMs ? after.fromMs : 0
}
