import { describe, expect, it } from 'vitest'
import { quoteCase, quoteLine } from '../../../src/billing/quote/quote-case.ts'
import { STANDARD } from '../../../src/billing/quote/settings.ts'
import { quoteText } from '../../../src/cli/quote/cases.ts'
import {
  call,
  type Json,
  perUnit,
  prepaid,
  quoteCaseOf,
  rate,
} from '../../support/billing/quote/case-builder.ts'

const tier = (more: Json) => ({ from: 0, to: 'UNLIMITED', interval: 1, price: 1, ...more })
const priced = (...tiers: Json[]) =>
  quoteCaseOf({ catalogue: { rates: [rate('T01', 'call', { rate: tiers })] } })
const event = (more: Json) => quoteCaseOf({ events: [call(1), call(1, more)] })
const bucket = (more: Json) =>
  prepaid(1, {
    subscriber: { plan: 'P', buckets: [{ pp_includes_external_id: 7, value: 1, ...more }] },
  })

const TIER = 'catalogue.rates.0.rates.call.BASE.rate.0'
const BROKEN: [string, Json, string, string | RegExp][] = [
  ['zero interval', priced(tier({ interval: 0 })), `${TIER}.interval`, 'must be above 0, is 0'],
  ['negative interval', priced(tier({ interval: -1 })), `${TIER}.interval`, /must not be negative/],
  ['price that is no number', priced(tier({ price: 'dear' })), `${TIER}.price`, /must be a number/],
  ['tier of nothing', priced(tier({ from: 5, to: 5 })), `${TIER}.to`, /must be above from/],
  ['key of a tier', priced(tier({ prise: 1 })), `${TIER}.prise`, 'is not known'],
  ['no catalogue', { name: 'x', subscriber: {}, events: [] }, 'catalogue', 'is missing'],
  ['no events', quoteCaseOf({ events: undefined }), 'events', /must be a list|is missing/],
  ['key of a case', quoteCaseOf({ expects: [] }), 'expects', 'is not known'],
  [
    'key of a catalogue',
    quoteCaseOf({ catalogue: { plan: [] } }),
    'catalogue.plan',
    'is not known',
  ],
  ['key of an event', event({ ratee: 'T01' }), 'events.1.ratee', 'is not known'],
  ['key of a bucket', bucket({ amount: 1 }), 'subscriber.buckets.0.amount', 'is not known'],
  ['key of the settings', quoteCaseOf({ config: { zone: 'UTC' } }), 'config.zone', 'is not known'],
  ['account of nobody', quoteCaseOf({ account: { aid: 9 } }), 'account.aid', /any subscriber: 9/],
  [
    'key of a held service',
    quoteCaseOf({ account: { services: [{ name: 'S', quantitiy: 2 }] } }),
    'account.services.0.quantitiy',
    'is not known',
  ],
  [
    'key of an override',
    quoteCaseOf({ subscriber: { plan: 'P', overrides: [{ type: 'plan', key: 'P', values: {} }] } }),
    'subscriber.overrides.0.values',
    'is not known',
  ],
  ['no plan', quoteCaseOf({ subscriber: {} }), 'subscriber.plan', 'is missing'],
  [
    'plan of nobody',
    quoteCaseOf({ subscriber: { plan: 'Q' } }),
    'subscriber.plan',
    /catalogue\.plans/,
  ],
  [
    'service of nobody',
    quoteCaseOf({ subscriber: { plan: 'P', services: [{ name: 'S' }] } }),
    'subscriber.services.0.name',
    'names a service that does not exist: S',
  ],
  ['text as volume', event({ usagev: 'much' }), 'events.1.usagev', /must be a number/],
  [
    'seven decimals',
    event({ usagev: 0.0000001 }),
    'events.1.usagev',
    'has more than 6 decimals: 1e-7',
  ],
  ['no usage type', event({ usaget: undefined }), 'events.1.usaget', 'is missing'],
  ['time that is none', event({ urt: 'noon' }), 'events.1.urt', /unix seconds, is 'noon'$/],
  ['time of another kind', event({ urt: {} }), 'events.1.urt', 'must be a date or unix seconds'],
  ['end before begin', event({ eurt: '2026-01-01' }), 'events.1.eurt', 'must not be before urt'],
  ['record type', event({ record_type: 'x' }), 'events.1.record_type', /must be one of/],
  ['refund of nothing', event({ refund: true }), 'events.1.session_id', /is missing/],
  ['debt', bucket({ value: -1 }), 'subscriber.buckets.0.value', 'must not be negative, is -1'],
  [
    'bucket of no include',
    bucket({ pp_includes_external_id: 8 }),
    'subscriber.buckets.0.pp_includes_external_id',
    'is not in catalogue.prepaidincludes: 8',
  ],
  [
    'two prices at a time',
    quoteCaseOf({
      catalogue: { rates: [rate('A', 'call', perUnit(1)), rate('A', 'call', perUnit(2))] },
    }),
    'catalogue.rates.1',
    'overlaps another revision: A',
  ],
  ['unknown zone', quoteCaseOf({ config: { time_zone: 'Mars' } }), 'config.time_zone', /IANA/],
  ['day 31', quoteCaseOf({ config: { cycle_day: 31 } }), 'config.cycle_day', /from 1 to 28/],
  [
    'rule of matching',
    quoteCaseOf({ config: { rate_calculators: { retail: { call: [[{ type: 'like' }]] } } } }),
    'config.rate_calculators.retail.call.0.0.type',
    /./,
  ],
  [
    'kind of an include',
    quoteCaseOf({ catalogue: { prepaidincludes: [{ external_id: 7, charging_by: 'money' }] } }),
    'catalogue.prepaidincludes.0.charging_by',
    /./,
  ],
  [
    'group without an amount',
    quoteCaseOf({
      catalogue: { plans: [{ name: 'P', include: { groups: { G: { usage_types: {} } } } }] },
    }),
    'catalogue.plans.0.include.groups.G',
    'must have a value or a cost',
  ],
  [
    'both kinds of subscriber',
    quoteCaseOf({ subscribers: [] }),
    'subscribers',
    /combined with 'subscriber'/,
  ],
]

describe('a broken case', () => {
  it.each(BROKEN)('is reported by field: %s', (_what, value, field, why) => {
    const clean = JSON.parse(JSON.stringify(value))
    const matching = typeof why === 'string' ? why : expect.stringMatching(why)
    const { name } = clean
    expect(quoteCase(clean)).toEqual({
      name,
      results: [],
      error: { field, why: matching },
      ok: false,
    })
  })

  it('is reported in one line', () => {
    const error = `{"field":"${TIER}.interval","why":"must be above 0, is 0"}`
    const line = quoteLine(quoteCase(priced(tier({ interval: 0 }))))
    expect(line).toBe(`{"name":"a story","error":${error},"ok":false}`)
  })

  it('must not reuse the session of an earlier event', () => {
    const session = { record_type: 'event_request', session_id: 's' }
    const { error } = quoteCase(quoteCaseOf({ events: [call(1, session), call(2, session)] }))
    expect(error).toEqual({ field: 'events.1.session_id', why: 'is used by an earlier event' })
  })

  it.each([
    ['tariff', (deep: unknown) => priced(tier({ price: deep })), `${TIER}.price.0.0`],
    [
      'expectation',
      (deep: unknown) => quoteCaseOf({ expect: [{ aprice: deep }] }),
      'expect.0.aprice.0',
    ],
  ])('is nested too deeply: %s', (_what, caseOf, path) => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
    const { error } = JSON.parse(quoteLine(quoteCase(caseOf(deep))))
    expect(error.field.startsWith(path)).toBe(true)
    expect(error.why).toBe('is nested deeper than 100 objects and lists')
  })

  it.each([null, 1, 'text', []])('may be a value other than an object: %j', (value) => {
    expect(quoteCase(value, STANDARD, 'line 3')).toEqual({
      name: 'line 3',
      results: [],
      ok: false,
      error: { field: '', why: 'must be an object' },
    })
  })

  it('is identified by its line if it is not JSON or has no name', () => {
    expect(quoteText('{"name":', 4, STANDARD)).toEqual({
      name: 'line 4',
      results: [],
      ok: false,
      error: { field: '', why: expect.stringMatching(/^is not JSON: /) },
    })
    expect(quoteText(null, 4, STANDARD)).toMatchObject({
      name: 'line 4',
      error: { field: '', why: 'is not UTF-8' },
    })
    expect(quoteText('{}', 5, STANDARD)).toMatchObject({
      name: 'line 5',
      error: { field: 'catalogue', why: 'is missing' },
    })
  })
})
