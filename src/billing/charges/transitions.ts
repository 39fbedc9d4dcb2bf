/** The state machine of a charge. Pure: times are values, epoch ms. */
import type { ChargeState } from '../../catalog/records/money/payment-documents.ts'
import type { GatewayOutcome } from '../../external/payment/gateway.ts'

export interface ChargeFacts {
  readonly state: ChargeState
  /** Null until the request was sent. */
  readonly sentMs: number | null
  readonly reference: string
  readonly status: string
  readonly code: string
  readonly isFinal: boolean
  /** From 1. */
  readonly attempt: number
  readonly firstRejectedMs: number | null
  readonly queries: number
  /** When something has to be done; null for nothing. */
  readonly dueMs: number | null
  /** Since when an operator has to decide; null if nobody has to. */
  readonly taskMs: number | null
}

export type ChargeEvent =
  /** The request is about to leave. */
  | { readonly type: 'send' }
  /** The gateway has answered, to the request or when asked. */
  | { readonly type: 'answer'; readonly outcome: GatewayOutcome }
  /** No answer to the request: time-out, cut connection, or the process has died. */
  | { readonly type: 'unanswered' }
  /** The gateway could not be asked. */
  | { readonly type: 'not asked' }
  /** The gateway, when asked, has no such charge. */
  | { readonly type: 'absent' }
  /** An operator has decided. */
  | { readonly type: 'decide'; readonly stage: 'completed' | 'rejected' }
  /** The repetition was made, or is no longer needed. */
  | { readonly type: 'repeated' }

export interface ChargeRules {
  /** Days after the first rejection on which a charge is repeated, ascending. */
  readonly retryDays: readonly number[]
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** When to ask for an outcome, after the request was sent: then daily for 7 days. */
export const ASK_AFTER_MS: readonly number[] = [
  MINUTE_MS,
  5 * MINUTE_MS,
  HOUR_MS,
  ...[1, 2, 3, 4, 5, 6, 7].map((days) => days * DAY_MS),
]

/** Until then a request may still be on its way, and the gateway may know it later. */
const ABSENT_AFTER_MS = HOUR_MS
/** A charge that was not sent by then is sent by another process. */
const SEND_WITHIN_MS = MINUTE_MS

export class ChargeTransitionError extends Error {
  override name = 'ChargeTransitionError'
}

/** A new charge. */
export function createdCharge(
  nowMs: number,
  attempt: number,
  firstRejectedMs: number | null,
): ChargeFacts {
  return {
    state: 'created',
    sentMs: null,
    reference: '',
    status: '',
    code: '',
    isFinal: false,
    attempt,
    firstRejectedMs,
    queries: 0,
    dueMs: nowMs + SEND_WITHIN_MS,
    taskMs: null,
  }
}

/** Throws `ChargeTransitionError` if the state does not permit the event. */
export function transition(
  charge: ChargeFacts,
  event: ChargeEvent,
  nowMs: number,
  rules: ChargeRules,
): ChargeFacts {
  const { state } = charge
  switch (event.type) {
    case 'send':
      if (state !== 'created') break
      return { ...charge, state: 'sent', sentMs: nowMs, dueMs: nowMs + MINUTE_MS }
    case 'answer':
      if (!isOpen(state)) break
      return answered(withQuery(charge), event.outcome, nowMs, rules)
    case 'unanswered':
      if (state !== 'sent') break
      return { ...charge, state: 'unknown', dueMs: firstAskMs(charge, nowMs) }
    case 'not asked':
      if (state !== 'unknown' && state !== 'pending') break
      return stillOpen(withQuery(charge), nowMs)
    case 'absent':
      if (state !== 'unknown' && state !== 'pending') break
      return absent(withQuery(charge), nowMs, rules)
    case 'decide':
      if (state !== 'unknown' && state !== 'pending') break
      return decided(charge, event.stage)
    case 'repeated':
      if (state !== 'rejected') break
      return { ...charge, dueMs: null }
  }
  throw new ChargeTransitionError(`a charge that is ${state} cannot take '${event.type}'`)
}

/** Whether the outcome is open and the request has left. */
function isOpen(state: ChargeState): boolean {
  return state === 'sent' || state === 'unknown' || state === 'pending'
}

/** Whether bills are reserved for a charge in this state. */
export function isReserved(state: ChargeState): boolean {
  return state === 'created' || isOpen(state)
}

function withQuery(charge: ChargeFacts): ChargeFacts {
  return charge.state === 'sent' ? charge : { ...charge, queries: charge.queries + 1 }
}

function answered(
  charge: ChargeFacts,
  { stage, status, code, isFinal, reference }: GatewayOutcome,
  nowMs: number,
  rules: ChargeRules,
): ChargeFacts {
  const known = {
    ...charge,
    reference: reference === '' ? charge.reference : reference,
    status,
    code,
    isFinal,
  }
  if (stage === 'pending') return stillOpen({ ...known, state: 'pending' }, nowMs)
  if (stage === 'rejected') return rejected(known, nowMs, rules)
  return { ...known, state: 'completed', dueMs: null, taskMs: null }
}

/** A pending charge is queried daily, even after the operator was notified. */
function stillOpen(charge: ChargeFacts, nowMs: number): ChargeFacts {
  const nextMs = nextAskMs(charge, nowMs)
  if (nextMs !== null) return { ...charge, dueMs: nextMs }
  const dueMs = charge.state === 'pending' ? nowMs + DAY_MS : null
  return { ...charge, dueMs, taskMs: charge.taskMs ?? nowMs }
}

/** Immediately if the time has passed, as after the end of a process. */
function firstAskMs({ sentMs }: ChargeFacts, nowMs: number): number {
  return Math.max(nowMs, (sentMs ?? nowMs) + MINUTE_MS)
}

/** The next time of the schedule after this instant. */
function nextAskMs({ sentMs }: ChargeFacts, afterMs: number): number | null {
  const times = ASK_AFTER_MS.map((ms) => (sentMs ?? afterMs) + ms)
  return times.find((ms) => ms > afterMs) ?? null
}

function absent(charge: ChargeFacts, nowMs: number, rules: ChargeRules): ChargeFacts {
  const { state, sentMs, reference } = charge
  const isBelieved = nowMs >= (sentMs ?? nowMs) + ABSENT_AFTER_MS
  if (state === 'pending' || reference !== '' || !isBelieved) return stillOpen(charge, nowMs)
  const lost = { ...charge, status: 'absent', code: 'not_received', isFinal: false }
  return rejected(lost, nowMs, rules)
}

function rejected(charge: ChargeFacts, nowMs: number, { retryDays }: ChargeRules): ChargeFacts {
  const firstRejectedMs = charge.firstRejectedMs ?? nowMs
  const days = charge.isFinal ? undefined : retryDays[charge.attempt - 1]
  const dueMs = days === undefined ? null : Math.max(nowMs, firstRejectedMs + days * DAY_MS)
  return { ...charge, state: 'rejected', firstRejectedMs, dueMs, taskMs: null }
}

/** A rejection by an operator is not repeated. */
function decided(charge: ChargeFacts, stage: 'completed' | 'rejected'): ChargeFacts {
  const done = { ...charge, state: stage, status: 'operator', dueMs: null, taskMs: null }
  return stage === 'completed' ? done : { ...done, code: 'operator', isFinal: true }
}
