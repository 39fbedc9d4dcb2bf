import { describe, expect, it } from 'vitest'
import {
  call,
  eventFields,
  type Json,
  quoteCaseOf,
} from '../../support/billing/quote/case-builder.ts'

const GROUPS = { groups: { G: { value: 100, usage_types: ['call'] } } }
const LIMITED = { name: 'S', limit_cycles: 1, price: [{ from: 0, to: 1, price: 5 }] }

/** For each date, whether a call at noon UTC is included. */
function includedAt(value: Json, dates: readonly string[], more: Json = {}): unknown[] {
  const events = dates.map((date) => call(10, { urt: `${date}T12:00:00Z`, ...more }))
  return eventFields({ ...value, events }, 'in_group').map((found) => (found as number[])[0] === 10)
}

interface Case {
  service?: Json
  plan?: Json
  subscriber?: Json
  more?: Json
}

function held({ service = {}, plan = {}, subscriber = {}, more = {} }: Case): Json {
  return quoteCaseOf({
    catalogue: {
      plans: [{ name: 'P', ...plan }, { name: 'OTHER' }],
      services: [{ ...LIMITED, include: GROUPS, ...service }],
    },
    subscriber: { sid: 1, aid: 1, plan: 'P', from: '2026-01-10', ...subscriber },
    ...more,
  })
}

const INCLUDED = { include: { services: ['S'] } }

describe('a service that its plan includes ends', () => {
  it('after its cycles, counted from the activation of the plan', () => {
    const dates = ['2026-01-10', '2026-02-09', '2026-02-10', '2026-12-10']
    expect(includedAt(held({ plan: INCLUDED }), dates)).toEqual([true, true, false, false])
    const activated = { plan_activation: '2026-01-20', from: '2026-01-01' }
    expect(includedAt(held({ plan: INCLUDED, subscriber: activated }), dates)).toEqual([
      false,
      true,
      true,
      false,
    ])
  })

  it('with the last tier of its prices, if limit_cycles is not set', () => {
    const dates = ['2026-03-20', '2026-04-09', '2026-04-10']
    const service = { limit_cycles: null, price: [{ from: 0, to: 3, price: 5 }] }
    expect(includedAt(held({ plan: INCLUDED, service }), dates)).toEqual([true, true, false])
    const endless = [{ from: 3, to: 'UNLIMITED', price: 1 }, ...service.price]
    const other = { limit_cycles: '', price: endless }
    expect(includedAt(held({ plan: INCLUDED, service: other }), dates)).toEqual([true, true, true])
  })

  it('with its own period, if it has one', () => {
    const service = { balance_period: '+2 weeks' }
    const dates = ['2026-01-23', '2026-01-24']
    expect(includedAt(held({ plan: INCLUDED, service }), dates)).toEqual([true, false])
  })

  it('by the plan, which continues through revisions of the subscriber', () => {
    const revision = (from: string, to: string, plan = 'P') => ({
      sid: 1,
      aid: 1,
      plan,
      from,
      to,
    })
    const subscribers = [
      revision('2026-01-10', '2026-01-25'),
      revision('2026-01-25', '2026-03-01'),
      revision('2026-03-01', '2026-04-01', 'OTHER'),
      revision('2026-04-01', '2027-01-01'),
    ]
    const { subscriber: _, ...rest } = held({ plan: INCLUDED })
    expect(
      includedAt({ ...rest, subscribers }, [
        '2026-01-26',
        '2026-02-09',
        '2026-02-10',
        '2026-04-30',
        '2026-05-01',
      ]),
    ).toEqual([true, true, false, true, false])
  })

  it('never, where its begin is not known', () => {
    const { subscriber: _, ...rest } = held({ plan: INCLUDED })
    const subscriber = { plan: 'P' }
    expect(includedAt({ ...rest, subscriber }, ['2026-01-10', '2026-12-10'])).toEqual([true, true])
  })
})

describe('a service of a subscriber ends', () => {
  const own = (entry: Json | string = {}) => {
    const service = typeof entry === 'string' ? entry : { name: 'S', from: '2026-01-15', ...entry }
    return { services: [service] }
  }
  const dates = ['2026-01-31', '2026-02-14', '2026-02-15']

  it.each<[Json, boolean[]]>([
    [own(), [true, true, false]],
    [own('S'), [true, false, false]],
    [own({ quantity: 3 }), [true, true, false]],
    [own({ to: '2170-01-01' }), [true, true, false]],
    [own({ to: '2026-02-01' }), [true, false, false]],
  ])('on schedule: %j', (subscriber, expected) => {
    expect(includedAt(held({ subscriber }), dates)).toEqual(expected)
  })

  it('in its own time zone', () => {
    const entry = { name: 'S', from: '2026-01-30T23:30:00Z' }
    const urts = ['2026-02-27T23:29:59Z', '2026-02-27T23:30:00Z', '2026-02-28T23:30:00Z']
    const at = (time_zone?: string) => {
      const subscriber = { services: [entry], ...(time_zone && { time_zone }) }
      const events = urts.map((urt) => call(10, { urt }))
      return eventFields({ ...held({ subscriber }), events }, 'in_group').flat()
    }
    expect(at()).toEqual([10, 10, 0])
    // In Tokyo it began on the 31st, and February has 28 days.
    expect(at('Asia/Tokyo')).toEqual([10, 0, 0])
  })

  it('under the terms that the service had when it began', () => {
    const services = [
      { name: 'S', to: '2026-02-01', include: GROUPS },
      { ...LIMITED, from: '2026-02-01', include: GROUPS },
    ]
    const begun = (from: string) => ({
      ...quoteCaseOf({ catalogue: { services } }),
      subscriber: { plan: 'P', from: '2026-01-01', services: [{ name: 'S', from }] },
    })
    expect(includedAt(begun('2026-01-15'), ['2026-06-01'])).toEqual([true])
    expect(includedAt(begun('2026-02-15'), ['2026-03-14', '2026-03-15'])).toEqual([true, false])
  })
})

describe('a service of an account ends', () => {
  const account = { services: [{ name: 'S', from: '2026-01-15' }] }
  const dates = ['2026-01-31', '2026-02-04', '2026-02-05', '2026-02-14']

  it('with a billing cycle', () => {
    expect(includedAt(held({ more: { account } }), dates)).toEqual([true, false, false, false])
    const config = { cycle_day: 5 }
    expect(includedAt(held({ more: { account, config } }), dates)).toEqual([
      true,
      true,
      false,
      false,
    ])
  })

  it('for all its subscribers at the same time, whatever their time zones', () => {
    const subscriber = { time_zone: 'Pacific/Auckland' }
    const events = ['2026-01-31T23:59:59Z', '2026-02-01T00:00:00Z'].map((urt) => call(10, { urt }))
    const value = { ...held({ subscriber, more: { account } }), events }
    expect(eventFields(value, 'in_group').flat()).toEqual([10, 0])
  })
})

describe('limit_cycles', () => {
  it.each([0, -1, 'x', [1]])('refuses %j', (limit_cycles) => {
    expect(() => includedAt(held({ plan: INCLUDED, service: { limit_cycles } }), [])).toThrow(
      /^catalogue.services.0.limit_cycles must/,
    )
  })
})

describe('a pooled group', () => {
  it('has the shares of the subscribers that still have the service', () => {
    const pooled = { groups: { G: { value: 100, usage_types: ['call'], account_pool: true } } }
    const subscribers = [1, 2].map((sid) => ({
      sid,
      aid: 1,
      plan: 'P',
      from: sid === 1 ? '2026-01-10' : '2026-01-25',
    }))
    const { subscriber: _, ...rest } = held({ plan: INCLUDED, service: { include: pooled } })
    const events = ['2026-02-05', '2026-02-12'].map((date) => ({
      ...call(200, { urt: `${date}T12:00:00Z`, sid: 2 }),
    }))
    const value = { ...rest, subscribers, events, config: { cycle_day: 10 } }
    expect(eventFields(value, 'in_group').flat()).toEqual([200, 100])
  })
})
