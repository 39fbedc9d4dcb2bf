/**
 * Published examples of included units as tables: the rows of each set-up run in order on the same
 * counters. Unless a row says otherwise, an event is of the first subscriber, of the usage type
 * `call`, on 2017-09-05.
 */
import { readTable } from '../../domain/table.ts'
import type {
  Catalogue,
  GroupDocument,
  PriceDocument,
  QuoteCase,
  RateDocument,
  ServiceEntry,
  SubscriberDocument,
} from './case.ts'
import { tierFrom } from './published-prices.ts'

const ROWS = `
  | case                       | sid | usaget   | rate  | day   | units | in  | over | out | price |
  |----------------------------|-----|----------|-------|-------|-------|-----|------|-----|-------|
  | plan 100 + 40 + 75         |     |          | USA   |       | 60    | 60  | 0    | 0   | 0     |
  | plan 100 + 40 + 75         |     |          | USA   |       | 50    | 50  | 0    | 0   | 0     |
  | plan 100 + 40 + 75         |     |          | USA   |       | 50    | 50  | 0    | 0   | 0     |
  | plan 100 + 40 + 75         |     |          | USA   |       | 280   | 55  | 225  | 0   | 106.5 |
  | plan 100 + 40 + 75         |     |          | OTHER |       | 180   | 0   | 0    | 180 | 18    |
  | second usage type          |     | data     | WEB   |       | 35    | 35  | 0    | 0   | 0     |
  | second usage type          |     | data     | WEB   |       | 180   | 165 | 15   | 0   | 3     |
  | strongest of the plan      |     |          | HALF  |       | 30    | 30  | 0    | 0   | 0     |
  | strongest of the plan      |     |          | HALF  |       | 75    | 70  | 5    | 0   | 2.5   |
  | strongest of the plan      |     |          | HALF  |       | 30    | 0   | 30   | 0   | 15    |
  | plan 5 + shared service 10 |     |          | TENTH |       | 20    | 15  | 5    | 0   | 0.5   |
  | plan units + service money |     |          | TENTH |       | 240   | 30  | 210  | 0   | 21    |
  | usage types share a group  |     | call     | BOTH  |       | 125   | 125 | 0    | 0   | 0     |
  | usage types share a group  |     | incoming | BOTH  |       | 275   | 175 | 100  | 0   | 10    |
  | custom period 60           |     |          | CENT  |       | 35    | 35  | 0    | 0   | 0     |
  | custom period 60           |     |          | CENT  | 09-16 | 62    | 0   | 62   | 0   | 0.62  |
  | custom period 60           |     |          | TEN   | 09-14 | 45    | 25  | 20   | 0   | 0.02  |
  | custom periods 250 + 120   |     |          | DIME  |       | 70    | 70  | 0    | 0   | 0     |
  | custom periods 250 + 120   |     |          | DIME  |       | 30    | 30  | 0    | 0   | 0     |
  | custom periods 250 + 120   |     |          | DIME  |       | 150   | 150 | 0    | 0   | 0     |
  | custom periods 250 + 120   |     |          | DIME  |       | 250   | 120 | 130  | 0   | 1.3   |
  | quantity 2 of 100          |     |          | ONE   |       | 150   | 150 | 0    | 0   | 0     |
  | quantity 2 of 100          |     |          | ONE   |       | 50    | 50  | 0    | 0   | 0     |
  | quantity 2 of 100          |     |          | ONE   |       | 50    | 0   | 50   | 0   | 50    |
  | twice 100                  |     |          | ONE   |       | 110   | 110 | 0    | 0   | 0     |
  | twice 100                  |     |          | ONE   |       | 100   | 90  | 10   | 0   | 10    |
  | twice 100 at once          |     |          | ONE   |       | 220   | 200 | 20   | 0   | 20    |
  | quantity 2 of 60, 14 days  |     |          | CENT  |       | 35    | 35  | 0    | 0   | 0     |
  | quantity 2 of 60, 14 days  |     |          | CENT  | 09-16 | 62    | 0   | 62   | 0   | 0.62  |
  | quantity 2 of 60, 14 days  |     |          | TEN   | 09-14 | 100   | 85  | 15   | 0   | 0.02  |
  | not yet begun              |     |          | CENT  | 08-31 | 62    | 0   | 62   | 0   | 0.62  |
  | pool of quantities 1 and 2 | 1   |          | ONE   |       | 50    | 50  | 0    | 0   | 0     |
  | pool of quantities 1 and 2 | 2   |          | ONE   |       | 50    | 50  | 0    | 0   | 0     |
  | pool of quantities 1 and 2 | 1   |          | ONE   |       | 100   | 100 | 0    | 0   | 0     |
  | pool of quantities 1 and 2 | 2   |          | ONE   |       | 100   | 100 | 0    | 0   | 0     |
  | pool of quantities 1 and 2 | 1   |          | ONE   |       | 150   | 0   | 150  | 0   | 150   |
  | no service                 |     |          | ONE   |       | 50    | 0   | 0    | 50  | 50    |
  | plan groups AAA and SR4    |     |          | HALF  |       | 24    | 24  | 0    | 0   | 0     |
  | plan groups AAA and SR4    |     |          | HALF  |       | 50    | 26  | 24   | 0   | 12    |
  | plan groups AAA and SR4    |     | gr       | VEG   |       | 12    | 12  | 0    | 0   | 0     |
  | plan groups AAA and SR4    |     | gr       | VEG   |       | 80    | 38  | 42   | 0   | 6.4   |
  | account-shared 10          | 1   |          | TENTH |       | 8     | 8   | 0    | 0   | 0     |
  | account-shared 10          | 2   |          | TENTH |       | 8     | 2   | 6    | 0   | 0.6   |
`

const RATES: RateDocument[] = [
  rate('USA', 'call', '0–∞ 1/1'),
  rate('OTHER', 'call', '0–∞ 0.1/1'),
  rate('WEB', 'data', '0–∞ 0.2/1'),
  rate('HALF', 'call', '0–∞ 0.5/1'),
  rate('TENTH', 'call', '0–∞ 0.1/1'),
  rate('CENT', 'call', '0–∞ 0.01/1'),
  rate('TEN', 'call', '0–∞ 0.01/10'),
  rate('DIME', 'call', '0–∞ 0.1/10'),
  rate('ONE', 'call', '0–∞ 1/1'),
  rate('VEG', 'gr', '0–∞ 1/1'),
  {
    key: 'BOTH',
    rates: { call: { BASE: price('0–∞ 0.1/1') }, incoming: { BASE: price('0–∞ 0.1/1') } },
  },
]

interface SetUp {
  plan?: Record<string, GroupDocument>
  planRates?: Record<string, Record<string, PriceDocument>>
  /** Name, groups, period. */
  services?: Record<string, { groups: Record<string, GroupDocument>; period?: string }>
  /** The products of each subscriber. */
  has?: ServiceEntry[][]
}

const CALLS = { usage_types: { call: {} } }
const FIRST_DAY = '2017-09-01 00:00:00'

const SET_UPS: Record<string, SetUp> = {
  'plan 100 + 40 + 75': {
    plan: { P100: { value: 100, rates: ['USA'], ...CALLS } },
    planRates: { USA: { call: price('0–20 0.2/1; 21–∞ 0.5/1') } },
    services: {
      S40: { groups: { G40: { value: 40, rates: ['USA'], ...CALLS } } },
      S75: { groups: { G75: { value: 75, rates: ['USA'], ...CALLS } } },
    },
    has: [[{ name: 'S40' }, { name: 'S75' }]],
  },
  'second usage type': {
    services: { S: { groups: { G: { value: 200, usage_types: { data: {} } } } } },
    has: [[{ name: 'S' }]],
  },
  'strongest of the plan': {
    plan: { P60: { value: 60, ...CALLS }, P40: { value: 40, ...CALLS } },
    services: { S40: { groups: { G40: { value: 40, ...CALLS } } } },
    has: [[{ name: 'S40' }]],
  },
  'plan 5 + shared service 10': {
    plan: { P5: { call: 5, rates: ['TENTH'] } },
    services: { S10: { groups: { G10: { value: 10, ...CALLS, account_shared: true } } } },
    has: [[{ name: 'S10' }]],
  },
  'plan units + service money': {
    plan: { P10: { value: 10, ...CALLS } },
    services: { S2: { groups: { MONEY: { cost: 2, rates: ['TENTH'] } } } },
    has: [[{ name: 'S2' }]],
  },
  'usage types share a group': {
    plan: { P300: { value: 300, usage_types: { call: {}, incoming: {} }, rates: 'ALL_RATES' } },
  },
  'custom period 60': {
    services: { S60: { groups: { G60: { value: 60, ...CALLS } }, period: '+14 days' } },
    has: [[{ name: 'S60', from: FIRST_DAY }]],
  },
  'custom periods 250 + 120': {
    services: {
      S250: { groups: { G: { value: 250, ...CALLS } }, period: '+2 weeks' },
      S120: { groups: { G: { value: 120, ...CALLS } }, period: 'tomorrow +20 days' },
    },
    has: [
      [
        { name: 'S250', from: FIRST_DAY },
        { name: 'S120', from: FIRST_DAY },
      ],
    ],
  },
  'quantity 2 of 100': {
    services: { S100: { groups: { G: { value: 100, ...CALLS } } } },
    has: [[{ name: 'S100', quantity: 2 }]],
  },
  'twice 100': twice100(),
  'twice 100 at once': twice100(),
  'quantity 2 of 60, 14 days': {
    services: { S60: { groups: { G60: { value: 60, ...CALLS } }, period: '+14 days' } },
    has: [[{ name: 'S60', from: FIRST_DAY, quantity: 2 }]],
  },
  'not yet begun': {
    services: { S60: { groups: { G60: { value: 60, ...CALLS } }, period: '+14 days' } },
    has: [[{ name: 'S60', from: FIRST_DAY }]],
  },
  'pool of quantities 1 and 2': {
    services: { S100: { groups: { G: { value: 100, ...CALLS, account_pool: true } } } },
    has: [[{ name: 'S100', quantity: 1 }], [{ name: 'S100', quantity: 2 }]],
  },
  'no service': {},
  'plan groups AAA and SR4': {
    plan: { AAA: { value: 50, ...CALLS }, SR4: { value: 50, usage_types: { gr: {} } } },
    planRates: { VEG: { gr: price('0–20 0.1/1; 21–∞ 0.2/1') } },
  },
  'account-shared 10': {
    plan: { G10: { value: 10, ...CALLS, account_shared: true } },
    has: [[], []],
  },
}

const NAMES = new Set(readTable(ROWS).map((row) => row['case']!))

export const INCLUDE_CASES: QuoteCase[] = [...NAMES].map((name) => {
  const rows = readTable(ROWS).filter((row) => row['case'] === name)
  const setUp = SET_UPS[name]
  if (setUp === undefined) throw new Error(`there is no set-up ${name}`)
  return {
    name,
    catalogue: catalogueOf(setUp),
    subscribers: (setUp.has ?? [[]]).map(subscriberOf),
    config: { time_zone: 'UTC', cycle_day: 1 },
    events: rows.map((row) => ({
      sid: Number(row['sid'] || 1),
      usaget: row['usaget'] || 'call',
      rate: row['rate']!,
      usagev: Number(row['units']),
      urt: `2017-${row['day'] || '09-05'}T12:00:00Z`,
    })),
    expect: rows.map((row) => ({
      in_group: Number(row['in']),
      over_group: Number(row['over']),
      out_group: Number(row['out']),
      aprice: Number(row['price']),
      granted: Number(row['units']),
    })),
  }
})

function catalogueOf({ plan = {}, planRates = {}, services = {} }: SetUp): Catalogue {
  return {
    rates: RATES,
    plans: [
      {
        name: 'P',
        connection_type: 'postpaid',
        include: { groups: plan },
        rates: planRates,
      },
    ],
    services: Object.entries(services).map(([name, { groups, period }]) => ({
      name,
      include: { groups },
      ...(period === undefined ? {} : { balance_period: period }),
    })),
  }
}

function subscriberOf(services: ServiceEntry[], index: number): SubscriberDocument {
  return { sid: index + 1, aid: 1, plan: 'P', services }
}

function twice100(): SetUp {
  return {
    services: { S100: { groups: { G: { value: 100, ...CALLS } } } },
    has: [
      [
        { name: 'S100', service_id: 1 },
        { name: 'S100', service_id: 2 },
      ],
    ],
  }
}

function rate(key: string, usaget: string, tiers: string): RateDocument {
  return { key, rates: { [usaget]: { BASE: price(tiers) } } }
}

function price(tiers: string): PriceDocument {
  return { rate: tiers.split(';').map(tierFrom) }
}
