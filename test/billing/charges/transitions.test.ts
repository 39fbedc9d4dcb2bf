import { describe, expect, it } from 'vitest'
import {
  ASK_AFTER_MS,
  type ChargeEvent,
  type ChargeFacts,
  createdCharge,
  transition,
} from '../../../src/billing/charges/transitions.ts'
import type { ChargeState } from '../../../src/catalog/records/money/payment-documents.ts'
import type { GatewayOutcome } from '../../../src/external/payment/gateway.ts'

const T0 = Date.UTC(2026, 5, 15, 12)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const RULES = { retryDays: [3, 5, 7] }

const outcome = (
  stage: GatewayOutcome['stage'],
  more: Partial<GatewayOutcome> = {},
): ChargeEvent => ({
  type: 'answer',
  outcome: { stage, reference: 'ref', status: stage, code: '', isFinal: false, ...more },
})

const after = (charge: ChargeFacts, nowMs: number, ...events: ChargeEvent[]) =>
  events.reduce((facts, event) => transition(facts, event, nowMs, RULES), charge)

const created = createdCharge(T0, 1, null)
const sent = after(created, T0, { type: 'send' })
const unknown = after(sent, T0 + 20_000, { type: 'unanswered' })
const pending = after(sent, T0, outcome('pending'))
const rejected = after(sent, T0, outcome('rejected', { code: 'do_not_honor' }))
const completed = after(sent, T0, outcome('completed'))

const STATES: Readonly<Record<ChargeState, ChargeFacts>> = {
  created,
  sent,
  unknown,
  pending,
  rejected,
  completed,
}

const EVENTS: Readonly<Record<string, ChargeEvent>> = {
  send: { type: 'send' },
  completed: outcome('completed'),
  pending: outcome('pending'),
  rejected: outcome('rejected'),
  unanswered: { type: 'unanswered' },
  'not asked': { type: 'not asked' },
  absent: { type: 'absent' },
  complete: { type: 'decide', stage: 'completed' },
  reject: { type: 'decide', stage: 'rejected' },
  repeated: { type: 'repeated' },
}

/** By state and event, ten minutes after sending: the next state; absent if it is refused. */
const TABLE: Readonly<Record<ChargeState, Readonly<Record<string, ChargeState>>>> = {
  created: { send: 'sent' },
  sent: {
    completed: 'completed',
    pending: 'pending',
    rejected: 'rejected',
    unanswered: 'unknown',
  },
  unknown: {
    completed: 'completed',
    pending: 'pending',
    rejected: 'rejected',
    'not asked': 'unknown',
    absent: 'unknown',
    complete: 'completed',
    reject: 'rejected',
  },
  pending: {
    completed: 'completed',
    pending: 'pending',
    rejected: 'rejected',
    'not asked': 'pending',
    absent: 'pending',
    complete: 'completed',
    reject: 'rejected',
  },
  rejected: { repeated: 'rejected' },
  completed: {},
}

describe('a charge', () => {
  const rows = (Object.keys(STATES) as ChargeState[]).flatMap((state) =>
    Object.keys(EVENTS).map((event) => [state, event, TABLE[state][event] ?? 'refused'] as const),
  )
  it.each(rows)('that is %s takes %s: %s', (state, event, next) => {
    const take = () => after(STATES[state], T0 + 10 * MINUTE, EVENTS[event] as ChargeEvent)
    if (next === 'refused') expect(take).toThrow(`that is ${state} cannot take`)
    else expect(take().state).toBe(next)
  })

  it('without an answer is asked for after 1 min, 5 min, 1 h, daily for a week', () => {
    const asked: number[] = []
    let charge = unknown
    while (charge.dueMs !== null) {
      asked.push(charge.dueMs - T0)
      charge = after(charge, charge.dueMs, { type: 'not asked' })
    }
    const days = [1, 2, 3, 4, 5, 6, 7].map((day) => day * DAY)
    expect(asked).toEqual([MINUTE, 5 * MINUTE, HOUR, ...days])
    expect(asked).toEqual(ASK_AFTER_MS)
    expect(charge).toMatchObject({ state: 'unknown', taskMs: T0 + 7 * DAY, queries: 10 })
  })

  it('that is pending is asked for daily after it has become a task', () => {
    const late = after(pending, T0 + 7 * DAY, outcome('pending'))
    expect(late).toMatchObject({ state: 'pending', taskMs: T0 + 7 * DAY, dueMs: T0 + 8 * DAY })
    const later = after(late, T0 + 8 * DAY, outcome('pending'))
    expect(later).toMatchObject({ taskMs: T0 + 7 * DAY, dueMs: T0 + 9 * DAY })
  })

  it('whose process has died is asked for at once when the first time has passed', () => {
    const found = after(sent, T0 + 3 * HOUR, { type: 'unanswered' })
    expect(found).toMatchObject({ state: 'unknown', dueMs: T0 + 3 * HOUR })
  })

  it('that the gateway does not have is not believed before an hour, then may be repeated', () => {
    const early = after(unknown, T0 + 5 * MINUTE, { type: 'absent' })
    expect(early).toMatchObject({ state: 'unknown', dueMs: T0 + HOUR })
    const late = after(early, T0 + HOUR, { type: 'absent' })
    expect(late).toMatchObject({ state: 'rejected', code: 'not_received', isFinal: false })
    expect(late.dueMs).toBe(T0 + HOUR + 3 * DAY)
  })

  it('that the gateway has answered once is never taken for absent', () => {
    const known = { ...unknown, reference: 'pi_1' }
    expect(after(known, T0 + 2 * DAY, { type: 'absent' }).state).toBe('unknown')
  })

  it.each([
    [1, 3],
    [2, 5],
    [3, 7],
  ])('rejected at attempt %d is repeated %d days after the first rejection', (attempt, days) => {
    const first = attempt === 1 ? null : T0
    const fresh = createdCharge(T0 + (days - 1) * DAY, attempt, first)
    const nowMs = attempt === 1 ? T0 : T0 + (days - 1) * DAY
    const done = after(fresh, nowMs, { type: 'send' }, outcome('rejected'))
    expect(done).toMatchObject({ dueMs: T0 + days * DAY, firstRejectedMs: T0 })
  })

  it('rejected for the last time, finally or by an operator is not repeated', () => {
    const fourth = after(createdCharge(T0, 4, T0 - 7 * DAY), T0, { type: 'send' })
    expect(after(fourth, T0, outcome('rejected')).dueMs).toBeNull()
    expect(after(sent, T0, outcome('rejected', { isFinal: true })).dueMs).toBeNull()
    const decided = after(unknown, T0 + DAY, { type: 'decide', stage: 'rejected' })
    expect(decided).toMatchObject({ dueMs: null, isFinal: true, taskMs: null })
  })

  it('keeps the reference of an earlier answer', () => {
    const asked = after(pending, T0 + HOUR, outcome('completed', { reference: '' }))
    expect(asked.reference).toBe('ref')
  })
})
