import { describe, expect, it } from 'vitest'
import type {
  PlanRevision,
  ServiceRevision,
  SubscriberProfile,
} from '../../src/domain/catalogue.ts'
import { UNLIMITED_TOTAL } from '../../src/domain/counters.ts'
import { createCycleFinder } from '../../src/domain/cycle.ts'
import { activeProductsAt } from '../../src/rating/active-products.ts'
import { includedFor } from '../../src/rating/groups.ts'
import { endOf } from '../../src/rating/periods.ts'
import { catalogueOf, planOf, profileOf } from '../support/rating/catalogue.ts'
import { groupOf, heldOf, serviceOf } from '../support/rating/offers.ts'

const AT = Date.UTC(2026, 6, 10)
const DAY = 86_400_000
const FAR = 1e15
const CALENDAR = { zone: 'UTC', cycleDay: 1 }

/**
 * `HOLDER/SERVICE_ID/NAME total @owner`, in the order of use; `!` if a group is meant for the usage
 * but none applies.
 */
function included(
  groups: Partial<PlanRevision>,
  services: ServiceRevision[] = [],
  profile: Partial<SubscriberProfile> = {},
  usage = { rateKey: 'CALL', usaget: 'call' },
): string[] {
  const plan = planOf('PREPAID', { toMs: FAR, ...groups })
  const other = planOf('OTHER', { toMs: FAR, services: ['WITH_OTHER'] })
  const catalogue = catalogueOf([], [plan, other], services)
  const who = profileOf({ toMs: FAR, ...profile })
  const products = activeProductsAt(catalogue, who, AT, CALENDAR)!
  const open = createCycleFinder('UTC', 1)(AT, AT)
  const query = {
    ...usage,
    catalogue,
    calendar: CALENDAR,
    profile: who,
    products,
    ...open,
    atMs: AT,
  }
  const { counters, hasGroups } = includedFor(query)
  if (counters.length === 0) return hasGroups ? ['!'] : []
  return counters.map(
    ({ counter, total, owner }) => `${counter.replace(/^(group|term)\//, '')} ${total} @${owner}`,
  )
}

const MONEY = { kind: 'totalCost' as const }

describe('an included group', () => {
  it('of the plan applies as the first of units and the first of money, never a second one', () => {
    const groups = [
      groupOf('OTHER', 1, { rates: new Set(['SMS']) }),
      groupOf('ONE', 60, { rates: new Set(['CALL']) }),
      groupOf('CASH', 5, MONEY),
      groupOf('TWO', 40),
    ]
    expect(included({ groups })).toEqual(['PREPAID/0/ONE 60 @0', 'PREPAID/0/CASH 5 @0'])
  })

  it('is limited to the usage types and rates that it names', () => {
    const sms = groupOf('SMS', 1, { usagets: new Set(['sms']) })
    const local = groupOf('LOCAL', 2, { rates: /^CALL_/ })
    expect(included({ groups: [sms, local] })).toEqual([])
    const usage = { rateKey: 'CALL_HOME', usaget: 'call' }
    expect(included({ groups: [sms, local] }, [], {}, usage)).toEqual(['PREPAID/0/LOCAL 2 @0'])
  })

  it('of the plan precedes that of the service that ends first, then the order of subscription', () => {
    const days = (count: number) => ({
      period: { months: 0, days: count, hours: 0, untilMidnight: false },
    })
    const services = [
      serviceOf('CYCLE', { groups: [groupOf('G', 1)] }),
      serviceOf('LONG', { groups: [groupOf('G', 2)], ...days(5) }),
      serviceOf('SHORT', { groups: [groupOf('G', 3), groupOf('M', 9, MONEY)], ...days(2) }),
      serviceOf('WITH_PLAN', { groups: [groupOf('G', 4)] }),
    ]
    const held = {
      services: ['CYCLE', 'LONG', 'SHORT'].map((name) => heldOf(name, { fromMs: AT })),
    }
    expect(
      included({ groups: [groupOf('P', 5)], services: ['WITH_PLAN'] }, services, held),
    ).toEqual(
      ['PREPAID/0/P 5 @0', 'SHORT/0/G 3 @0', 'SHORT/0/M 9 @0', 'LONG/0/G 2 @0'].concat([
        'WITH_PLAN/0/G 4 @0',
        'CYCLE/0/G 1 @0',
      ]),
    )
  })

  it('is multiplied by the quantity if it is affected by it; an unlimited one stays unlimited', () => {
    const groups = [groupOf('G', 50)]
    const fixed = [groupOf('G', 50, { isPerQuantity: false })]
    const endless = [groupOf('G', UNLIMITED_TOTAL)]
    const services = [
      serviceOf('A', { groups }),
      serviceOf('B', { groups: fixed }),
      serviceOf('C', { groups: endless }),
    ]
    const held = { services: ['A', 'B', 'C'].map((name) => heldOf(name, { quantity: 2 })) }
    expect(included({}, services, held)).toEqual([
      'A/0/G 100 @0',
      'B/0/G 50 @0',
      `C/0/G ${UNLIMITED_TOTAL} @0`,
    ])
  })

  it('is counted separately for each instance of a service, with or without an id', () => {
    const services = [serviceOf('A', { groups: [groupOf('G', 1)] })]
    const held = { services: [7, 8, 0, 0].map((serviceId) => heldOf('A', { serviceId })) }
    expect(included({}, services, held)).toEqual([
      'A/7/G 1 @0',
      'A/8/G 1 @0',
      'A/0/G 1 @0',
      'A/-1/G 1 @0',
    ])
  })

  it('is counted once for the account if it is shared or belongs to a service of the account', () => {
    const groups = [groupOf('G', 10, { sharing: 'shared' })]
    const services = [serviceOf('A', { groups }), serviceOf('B', { groups: [groupOf('G', 2)] })]
    const held = {
      services: [heldOf('A', { serviceId: 9 })],
      accountServices: [heldOf('B', { serviceId: 3 })],
    }
    expect(included({ groups }, services, held)).toEqual([
      'PREPAID/0/G 10 @1',
      'A/0/G 10 @1',
      'B/3/G 2 @1',
    ])
  })

  it('is pooled over the subscribers who have it at that instant', () => {
    const pooled = [groupOf('G', 100, { sharing: 'pool' })]
    const services = [serviceOf('A', { groups: pooled })]
    const member = (plan: string, quantity: number, more = {}) => ({
      plan,
      planFromMs: 0,
      timeZone: '',
      services: [heldOf('A', { quantity, ...more })],
    })
    const pool = [
      member('PREPAID', 1),
      member('OTHER', 2),
      member('OTHER', 5, { toMs: AT }),
      { plan: 'PREPAID', planFromMs: 0, timeZone: '', services: [] },
    ]
    const held = { services: [heldOf('A', { serviceId: 4 })], pool }
    expect(included({}, services, held)).toEqual(['A/0/G 300 @1'])
    expect(included({ groups: pooled }, [], { pool })).toEqual(['PREPAID/0/G 200 @1'])
  })

  it('is pooled over the subscribers who have it with another plan or from the account', () => {
    const services = ['WITH_OTHER', 'A'].map((name) =>
      serviceOf(name, { groups: [groupOf('G', 100, { sharing: 'pool' })] }),
    )
    const pool = ['PREPAID', 'OTHER', 'OTHER'].map((plan) => ({
      plan,
      planFromMs: 0,
      timeZone: '',
      services: [],
    }))
    const own = { services: [heldOf('WITH_OTHER')], accountServices: [heldOf('A')], pool }
    expect(included({}, services, own)).toEqual(['WITH_OTHER/0/G 200 @1', 'A/0/G 300 @1'])
  })

  it('is counted once for the account, also for a subscriber who has it twice', () => {
    const services = [serviceOf('A', { groups: [groupOf('G', 10, { sharing: 'shared' })] })]
    const held = { services: [7, 8].map((serviceId) => heldOf('A', { serviceId })) }
    expect(included({}, services, held)).toEqual(['A/0/G 10 @1'])
  })

  it('has one counter for a service of the account, also if a subscriber has the service too', () => {
    const services = [serviceOf('A', { groups: [groupOf('G', 1)] })]
    const accountServices = [heldOf('A')]
    expect(included({}, services, { accountServices })).toEqual(['A/0/G 1 @1'])
    expect(included({}, services, { accountServices, services: [heldOf('A')] })).toEqual([
      'A/0/G 1 @0',
      'A/0/G 1 @1',
    ])
  })

  it.each([
    ['ended', { toMs: AT }],
    ['not begun', { fromMs: AT + 1 }],
  ])('does not apply to a service that has %s, although it is meant for the usage', (_what, more) => {
    const services = [serviceOf('A', { groups: [groupOf('G', 1)] })]
    expect(included({}, services, { services: [heldOf('A', more)] })).toEqual(['!'])
  })

  it('does not apply after its period, although the service continues', () => {
    const period = { months: 0, days: 14, hours: 0, untilMidnight: false }
    const services = [serviceOf('A', { groups: [groupOf('G', 1)], period })]
    const held = (fromMs: number) => ({ services: [heldOf('A', { fromMs })] })
    expect(included({}, services, held(AT - 14 * DAY))).toEqual(['!'])
    expect(included({}, services, held(AT - 14 * DAY + 1000))).toEqual(['A/0/G 1 @0'])
  })
})

describe('the end of a period', () => {
  const begin = Date.UTC(2026, 0, 31, 10)
  const none = { months: 0, days: 0, hours: 0, untilMidnight: false }
  it.each([
    ['a month, of which February has no such day', { ...none, months: 1 }, '2026-02-28T10:00'],
    ['two weeks', { ...none, days: 14 }, '2026-02-14T10:00'],
    ['hours', { ...none, hours: 36 }, '2026-02-01T22:00'],
    ['midnights', { ...none, days: 7, untilMidnight: true }, '2026-02-07T00:00'],
    ['a year', { ...none, months: 12 }, '2027-01-31T10:00'],
  ])('is after %s', (_what, period, end) => {
    expect(new Date(endOf(period, begin, 'UTC')).toISOString().slice(0, 16)).toBe(end)
  })

  it('is at the same time of day, also across a day of 23 hours', () => {
    const from = Date.UTC(2026, 2, 28, 11)
    expect(endOf({ ...none, days: 1 }, from, 'Europe/Berlin')).toBe(Date.UTC(2026, 2, 29, 10))
  })
})
