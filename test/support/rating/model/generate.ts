/**
 * Random cases of the tariff bench. They omit everything that the rules leave open: shared and
 * pooled groups of services with their own period or of several instances, services of the account
 * with groups that are not shared, two buckets of one kind for one owner, months that begin on a
 * 31st.
 */
import fc from 'fast-check'
import { localTime } from '../../../../src/domain/time.ts'
import type { GroupDocument, QuoteCase } from './case.ts'
import {
  moneyAmount,
  overridesOf,
  part,
  RATE_KEYS,
  rateOf,
  seldom,
  strip,
  USAGETS,
  unitsOf,
} from './generate-prices.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const BEGIN_MS = Date.UTC(2026, 0, 10)
const ZONES = ['UTC', 'Europe/Berlin', 'Asia/Jerusalem', 'America/New_York', 'Asia/Kolkata']

export const quoteCases: fc.Arbitrary<QuoteCase> = fc
  .constantFrom(false, false, false, true)
  .chain(caseOf)

type Sharing = 'account_shared' | 'account_pool' | undefined

function groupOf(isFractional: boolean, sharing: readonly Sharing[]): fc.Arbitrary<GroupDocument> {
  const rates = fc.oneof(
    fc.constantFrom(undefined, 'ALL_RATES', '/^R[12]$/', '/3/'),
    fc.subarray([...RATE_KEYS], { minLength: 1 }),
  )
  const types = fc
    .subarray([...USAGETS], { minLength: 1 })
    .map((usagets) => Object.fromEntries(usagets.map((usaget) => [usaget, { unit: 'counter' }])))
  const terms = fc
    .record({
      rates,
      share: fc.constantFrom(...sharing),
      quantity_affected: fc.constantFrom(undefined, true, false),
    })
    .map(({ share, ...rest }) => ({ ...rest, ...(share === undefined ? {} : { [share]: true }) }))
  const value = fc.oneof(
    { weight: 30, arbitrary: unitsOf(80, isFractional) },
    { weight: 1, arbitrary: fc.constant('UNLIMITED' as const) },
  )
  const amount = fc.oneof(
    { weight: 4, arbitrary: fc.record({ value, usage_types: types }) },
    { weight: 2, arbitrary: fc.record({ cost: moneyAmount, usage_types: seldom(types, 3) }) },
    { weight: 1, arbitrary: fc.record({ call: unitsOf(80, isFractional) }) },
  )
  return fc
    .record({ terms, amount })
    .map((drawn) => part({ ...drawn.amount, ...drawn.terms }) as GroupDocument)
}

function groupsOf(isFractional: boolean, sharing: readonly Sharing[], max: number) {
  return fc
    .array(groupOf(isFractional, sharing), { maxLength: max })
    .map((groups) => Object.fromEntries(groups.map((group, index) => [`G${index + 1}`, group])))
}

function offersOf(isFractional: boolean) {
  const any: Sharing[] = [undefined, undefined, undefined, 'account_shared', 'account_pool']
  const rates = seldom(overridesOf(isFractional), 3)
  const plan = (name: string) =>
    fc.record({
      name: fc.constant(name),
      connection_type: fc.constantFrom('prepaid', 'postpaid'),
      include: fc.record({
        services: seldom(fc.constant(['INCLUDED']), 4),
        groups: groupsOf(isFractional, any, 2),
      }),
      rates,
      disallowed_rates: seldom(fc.constant(['R2']), 15),
    })
  const service = (name: string, sharing: readonly Sharing[], period: fc.Arbitrary<string>) =>
    fc.record({
      name: fc.constant(name),
      include: fc.record({ groups: groupsOf(isFractional, sharing, 2) }),
      rates,
      balance_period: period,
    })
  const cycle = fc.constant('default')
  const periods = fc.constantFrom(
    'default',
    '+2 weeks',
    '+20 days',
    '+1 months',
    'tomorrow +6 days',
  )
  return fc.record({
    plans: fc.tuple(plan('P'), plan('Q')),
    services: fc.tuple(
      service('ONCE', any, cycle),
      service('POOL', ['account_pool'], cycle),
      service('PERIOD', [undefined], periods),
      service('INCLUDED', [undefined, 'account_shared'], cycle),
      service('ACCOUNT', [undefined, 'account_shared'], cycle),
    ),
  })
}

const include = fc.record({
  priority: fc.integer({ min: 0, max: 2 }),
  charging_by: fc.constantFrom('usagev', 'usagev', 'cost', 'total_cost', 'total_cost'),
  usaget: fc.constantFrom(...USAGETS),
  shared: fc.constantFrom(undefined, undefined, true),
  unlimited: fc.constantFrom(undefined, undefined, undefined, true),
  allowed_in: seldom(
    fc.record({
      P: seldom(fc.subarray([...RATE_KEYS]), 2),
      BASE: seldom(fc.subarray([...RATE_KEYS]), 2),
    }),
    5,
  ),
  additional: fc.constantFrom(undefined, undefined, ['data'], ['call']),
})

const includes = fc.array(include, { minLength: 4, maxLength: 4 }).map((drawn) =>
  drawn.map(({ charging_by, usaget, additional, ...rest }, index) => ({
    name: `B${index + 1}`,
    external_id: index + 1,
    charging_by,
    charging_by_usaget: charging_by === 'total_cost' ? 'total_cost' : usaget,
    additional_charging_usaget: charging_by === 'total_cost' ? undefined : additional,
    ...rest,
  })),
)

/** `2026-02-03 00:00:00`, from December to April, on a day that every month has. */
const midnight = fc
  .integer({ min: -30, max: 80 })
  .map((days) => new Date(BEGIN_MS + days * DAY_MS).toISOString().slice(0, 10))
  .map((date) => `${date.replace(/(29|30|31)$/, '28')} 00:00:00`)

function subscribersOf(isFractional: boolean) {
  const entry = (name: string) =>
    fc.record({
      name: fc.constant(name),
      from: name === 'PERIOD' ? midnight : seldom(midnight, 3),
      to: name === 'PERIOD' ? fc.constant(undefined) : seldom(midnight, 6),
      // A shared group is shared whole: its value must not depend on the subscriber who uses it.
      quantity: name === 'ONCE' ? fc.constant(undefined) : fc.constantFrom(undefined, 1, 2, 3),
    })
  const overrides = fc.array(
    fc.record({
      type: fc.constant('plan'),
      key: fc.constantFrom('P', 'Q'),
      value: fc.record({ rates: overridesOf(isFractional) }),
    }),
    { minLength: 1, maxLength: 1 },
  )
  const serviceOverride = fc.record({
    type: fc.constant('service'),
    key: fc.constant('PERIOD'),
    id: fc.constantFrom(undefined, '11', '12'),
    value: fc.record({
      include: fc.record({ groups: groupsOf(isFractional, [undefined], 2) }),
      rates: seldom(overridesOf(isFractional), 3),
    }),
  })
  const buckets = fc.array(
    fc.record({
      id: fc.integer({ min: 1, max: 4 }),
      units: unitsOf(90, isFractional),
      money: moneyAmount,
      from: seldom(midnight, 6),
      to: seldom(midnight, 4),
    }),
    { maxLength: 4 },
  )
  const subscriber = fc.record({
    plan: fc.constantFrom('P', 'P', 'Q'),
    once: seldom(entry('ONCE'), 2),
    pool: seldom(entry('POOL'), 3),
    periods: fc.array(entry('PERIOD'), { maxLength: 2 }),
    overrides: seldom(fc.oneof(overrides, fc.tuple(serviceOverride)), 5),
    credit_limit: seldom(moneyAmount, 3),
    activation_date: seldom(midnight, 20),
    buckets,
  })
  return fc.array(subscriber, { minLength: 1, maxLength: 2 })
}

function eventsOf(isFractional: boolean) {
  const event = fc.record({
    sid: fc.constantFrom(1, 1, 2),
    usaget: fc.constantFrom('call', 'call', 'data'),
    usagev: unitsOf(120, isFractional),
    rate: fc.constantFrom(...RATE_KEYS),
    record_type: fc.constantFrom(undefined, undefined, undefined, 'event_request'),
    laterDays: fc.constantFrom(0, 0, 0, 1, 6, 13, 29),
    laterMinutes: fc.nat({ max: 1500 }),
    backDays: fc.constantFrom(0, 0, 0, 0, 0, 12, 28, 45, 62),
  })
  return fc.array(event, { minLength: 1, maxLength: 8 })
}

const config = fc.record({
  cycle_day: fc.constantFrom(1, 1, 1, 7, 15, 28),
  time_zone: fc.constantFrom(...ZONES),
})

const taxes = [
  { key: 'DEFAULT_VAT', rate: 0.17 },
  { key: 'REDUCED', rate: 0.055 },
  { key: 'EMBEDDED', rate: 0.2, embed_tax: true },
]

function caseOf(isFractional: boolean): fc.Arbitrary<QuoteCase> {
  const account = fc.record({
    services: seldom(fc.constant([{ name: 'ACCOUNT', service_id: 90 }]), 4),
    overrides: seldom(
      fc.tuple(
        fc.record({
          type: fc.constant('plan'),
          key: fc.constant('P'),
          value: fc.record({ rates: overridesOf(isFractional) }),
        }),
      ),
      8,
    ),
    credit_limit: seldom(moneyAmount, 4),
  })
  return fc
    .record({
      rates: fc.tuple(...RATE_KEYS.map((key) => rateOf(key, isFractional))),
      offers: offersOf(isFractional),
      includes,
      taxes: fc.constantFrom(undefined, taxes),
      account,
      subscribers: subscribersOf(isFractional),
      config,
      events: eventsOf(isFractional),
    })
    .map((drawn) => {
      const { offers, rates, account: owner, config: settings } = drawn
      return strip({
        name: 'drawn',
        catalogue: { rates, ...offers, prepaidincludes: drawn.includes, taxes: drawn.taxes },
        account: { aid: 1, ...owner },
        subscribers: subscribers(drawn),
        config: settings,
        events: timed(drawn, settings.time_zone),
      }) as unknown as QuoteCase
    })
}

type Drawn = {
  subscribers: ArbitraryValue<ReturnType<typeof subscribersOf>>
  includes: ArbitraryValue<typeof includes>
  events: ArbitraryValue<ReturnType<typeof eventsOf>>
}

type ArbitraryValue<T> = T extends fc.Arbitrary<infer Value> ? Value : never

/** Service ids, and one bucket of a kind for each owner. */
function subscribers(drawn: Drawn) {
  const held = new Set<string>()
  return drawn.subscribers.map(({ once, pool, periods, buckets, ...rest }, index) => ({
    sid: index + 1,
    aid: 1,
    ...rest,
    services: [
      ...(once === undefined ? [] : [{ ...once, service_id: 10 }]),
      ...periods.map((entry, number) => ({ ...entry, service_id: 11 + number })),
      ...(pool === undefined ? [] : [{ ...pool, service_id: 20 }]),
    ],
    buckets: buckets.flatMap(({ id, units, money, ...validity }) => {
      const { charging_by, shared } = drawn.includes[id - 1]!
      const owner = `${shared ? 0 : index + 1} ${id}`
      if (held.has(owner)) return []
      held.add(owner)
      const value = charging_by === 'usagev' ? units : money
      return [{ pp_includes_external_id: id, value, ...endingLater(validity) }]
    }),
  }))
}

/** Credit that ends before it begins is a mistake and refused. */
function endingLater({ from, to }: { from?: string | undefined; to?: string | undefined }) {
  return from !== undefined && to !== undefined && to <= from ? { from } : { from, to }
}

/**
 * Event times advance; some events are late. None is in the last hour before midnight: a grant that
 * is valid across the end of a cycle must be payable in both, which the model does not know.
 */
function timed({ subscribers: all, events }: Drawn, zone: string) {
  let atMs = BEGIN_MS
  return events.map(({ sid, laterDays, laterMinutes, backDays, ...event }) => {
    atMs += laterDays * DAY_MS + laterMinutes * 60_000
    const eventMs = atMs - backDays * DAY_MS
    const isLast = localTime(zone, eventMs).hour === 23
    const urt = `${new Date(isLast ? eventMs - HOUR_MS : eventMs).toISOString().slice(0, 19)}Z`
    return { sid: Math.min(sid, all.length), ...event, urt }
  })
}
