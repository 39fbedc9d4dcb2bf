/** Rules of usage patterns as they are compiled, and their windows. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compileFraudRule,
  type FraudRuleDocument,
  nextWindowMs,
  RECORDING_MS,
  windowsDue,
} from '../../../src/domain/events/fraud.ts'
import { FieldError } from '../../../src/domain/fields.ts'

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const RULE: FraudRuleDocument = {
  event_code: 'MANY_CALLS',
  recurrence: { type: 'minutely', value: 15 },
  date_range: { type: 'hourly', value: 1 },
  threshold_conditions: [[{ field: 'usagev', op: 'gte', value: 3600 }]],
}
const compiled = (more: Partial<FraudRuleDocument> = {}) =>
  compileFraudRule({ ...RULE, ...more }, 'events.fraud.0')

describe('a rule', () => {
  it('has durations, all lines, and windows that overlap', () => {
    expect(compiled()).toMatchObject({
      ...{ code: 'MANY_CALLS', recurrenceMs: 15 * MINUTE_MS, rangeMs: 60 * MINUTE_MS },
      ...{ linesOverlap: true, conditions: [] },
      thresholds: [[{ field: 'usagev', op: 'gte', values: ['3600e-0'], usagets: null }]],
    })
    expect(compiled({ active: false })).toBeNull()
  })

  it('reads lists, and texts with commas', () => {
    const conditions = [[{ field: 'subscriber.plan', op: 'in', value: 'A, B' } as const]]
    const threshold = { field: 'aprice', op: 'in', value: ['1.50', 2], usaget: 'call' } as const
    expect(compiled({ conditions, threshold_conditions: [[threshold]] })).toMatchObject({
      conditions: [[{ field: 'plan', op: 'in', values: ['A', 'B'] }]],
      thresholds: [[{ values: ['15e-1', '2e-0'], usagets: ['call'] }]],
    })
  })

  it('with an alternative without conditions counts all lines', () => {
    const conditions = [[{ field: 'type', op: 'in', value: 'realtime' } as const], []]
    expect(compiled({ conditions })?.conditions).toEqual([])
  })

  it('is another one if it counts something else, not if it is sent elsewhere', () => {
    const identity = compiled()?.identity
    expect(compiled({ url: 'https://a.example.net', event_description: 'x' })?.identity).toBe(
      identity,
    )
    expect(compiled({ lines_overlap: false })?.identity).not.toBe(identity)
    expect(compiled({ event_code: 'OTHER' })?.identity).not.toBe(identity)
  })

  it.each<[string, Partial<FraudRuleDocument>, string]>([
    ['gaps', { date_range: { type: 'minutely', value: 10 } }, 'date_range must not be shorter'],
    ['an empty list', { threshold_conditions: [[]] }, 'threshold_conditions.0 must have at'],
    [
      'no number',
      { threshold_conditions: [[{ field: 'usagev', op: 'gt', value: 'many' }]] },
      'threshold_conditions.0.0.value must be a number',
    ],
    [
      'two numbers',
      { threshold_conditions: [[{ field: 'usagev', op: 'gt', value: '1,2' }]] },
      'threshold_conditions.0.0.value must be a number',
    ],
    [
      'a long number',
      { threshold_conditions: [[{ field: 'usagev', op: 'in', value: '9'.repeat(40) }]] },
      'threshold_conditions.0.0.value must not have more than 30 digits',
    ],
    [
      'an empty member',
      { conditions: [[{ field: 'type', op: 'in', value: 'a,' }]] },
      'conditions.0.0.value must not have an empty member',
    ],
    [
      'no member',
      { conditions: [[{ field: 'type', op: 'in', value: [] }]] },
      'conditions.0.0.value must have at least 1 members',
    ],
  ])('is refused with %s', (_name, more, message) => {
    expect(() => compiled(more)).toThrow(FieldError)
    expect(() => compiled(more)).toThrow(`events.fraud.0.${message}`)
  })
})

describe('windows', () => {
  const rule = { recurrenceMs: 15 * MINUTE_MS, rangeMs: 60 * MINUTE_MS }
  const at = (text: string) => Date.parse(`2026-06-15T${text}Z`)

  it('end at multiples of the recurrence, and are due a minute later', () => {
    const due = (now: string) => windowsDue(rule, at('10:00:00'), at(now))
    expect(due('10:15:59')).toEqual([])
    const first = { fromMs: at('09:15:00'), toMs: at('10:15:00') }
    expect(due('10:16:00')).toEqual([first])
    expect(due('10:31:00')).toEqual([first, { fromMs: at('09:30:00'), toMs: at('10:30:00') }])
    expect(nextWindowMs(rule, at('10:00:00'))).toBe(at('10:16:00'))
  })

  it('of a new rule begin with the last one that is over', () => {
    expect(windowsDue(rule, null, at('10:20:00')).map(({ toMs }) => toMs)).toEqual([at('10:15:00')])
  })

  it('are each due once, in their order, except those that ended two days ago', () => {
    const minutes = fc.integer({ min: 1, max: 5_000 })
    fc.assert(
      fc.property(minutes, fc.array(minutes, { maxLength: 20 }), (recurrence, steps) => {
        const own = { recurrenceMs: recurrence * MINUTE_MS, rangeMs: DAY_MS }
        let [nowMs, lastMs] = [at('00:00:00'), null as number | null]
        for (const step of steps) {
          nowMs += step * MINUTE_MS
          const due = windowsDue(own, lastMs, nowMs).map(({ toMs }) => toMs)
          const latestMs = nowMs - RECORDING_MS
          for (const toMs of due) {
            expect(toMs % own.recurrenceMs).toBe(0)
            expect(toMs).toBeLessThanOrEqual(latestMs)
            const isNext = lastMs === null || toMs === lastMs + own.recurrenceMs
            const skippedMs = Number(lastMs) + own.recurrenceMs
            if (!isNext) expect(skippedMs).toBeLessThanOrEqual(latestMs - 2 * DAY_MS)
            lastMs = toMs
          }
          expect((lastMs ?? 0) + own.recurrenceMs).toBeGreaterThan(latestMs)
        }
      }),
    )
  })
})
