/**
 * Funding sources, worked out by hand from the agreed rules. The rows of a scenario run in order.
 * Unless a row says otherwise, an event is of the first subscriber and of the rate TENTH (0.1 for
 * each unit of a call) on 2026-01-10. `!`: all or nothing.
 */
import { readTable } from '../../domain/table.ts'
import type {
  AccountDocument,
  BucketDocument,
  Catalogue,
  PlanDocument,
  PrepaidIncludeDocument,
  PriceDocument,
  QuoteCase,
  RateDocument,
  ServiceDocument,
  SubscriberDocument,
} from './case.ts'
import { tierFrom } from './published-prices.ts'

const ROWS = `
  | case                       | sid | rate    | day   | asked | granted | in | price | code |
  |------------------------------|-----|---------|-------|-------|---------|----|-------|------|
  | limit of the subscriber      |     |         |       | 30    | 30      | 0  | 3     | 1    |
  | limit of the subscriber      |     |         |       | 30    | 20      | 0  | 2     | 1    |
  | limit of the subscriber      |     |         |       | 30    | 0       | 0  | 0     | -1   |
  | limit of the subscriber      |     |         | 02-01 | 30    | 30      | 0  | 3     | 1    |
  | limit of the subscriber      |     |         | 01-31 | 30    | 0       | 0  | 0     | -1   |
  | limit of the subscriber      |     | FREE    | 01-31 | 30    | 30      | 0  | 0     | 1    |
  | limit of the account         | 1   |         |       | 30    | 30      | 0  | 3     | 1    |
  | limit of the account         | 2   |         |       | 30    | 20      | 0  | 2     | 1    |
  | limit of the account         | 1   |         |       | 30    | 0       | 0  | 0     | -1   |
  | closed cycles                |     |         | 03-10 | 10    | 10      | 0  | 1     | 1    |
  | closed cycles                |     |         | 01-10 | 50    | 50      | 0  | 5     | 1    |
  | closed cycles                |     |         | 02-10 | 10    | 0       | 0  | 0     | -1   |
  | closed cycles                |     |         | 03-10 | 50    | 40      | 0  | 4     | 1    |
  | priority, then the end       |     |         |       | 5     | 5       | 0  | 0     | 1    |
  | priority, then the end       |     |         |       | 20    | 20      | 0  | 1.5   | 1    |
  | priority, then the end       |     |         | 01-20 | 20    | 5       | 0  | 0.5   | 1    |
  | remainders are pooled        |     | MINUTE  |       | 130   | 130     | 0  | 3     | 1    |
  | remainders are pooled        |     | MINUTE  |       | 130   | 0       | 0  | 0     | -1   |
  | all or nothing               |     | TENTH!  |       | 30    | 0       | 0  | 0     | -1   |
  | all or nothing               |     | TENTH!  |       | 20    | 20      | 0  | 2     | 1    |
  | allowed in                   |     |         |       | 10    | 0       | 0  | 0     | -1   |
  | allowed in                   |     | MINUTE  |       | 60    | 60      | 0  | 0     | 1    |
  | additional usage type        |     | WEB     |       | 10    | 10      | 0  | 0     | 1    |
  | shared with the account      | 1   |         |       | 15    | 15      | 0  | 0     | 1    |
  | shared with the account      | 2   |         |       | 15    | 5       | 0  | 0     | 1    |
  | group before bucket          |     |         |       | 10    | 10      | 6  | 0.4   | 1    |
  | group before bucket          |     |         | 02-10 | 10    | 10      | 6  | 0.4   | 1    |
  | group before bucket          |     |         | 03-10 | 10    | 8       | 6  | 0.2   | 1    |
  | money of groups, whole steps |     | MINUTE  |       | 100   | 100     | 60 | 1     | 1    |
  | money of groups, whole steps |     | MINUTE  |       | 100   | 100     | 0  | 2     | 1    |
  | money of groups, access      |     | ACCESS  |       | 10    | 10      | 5  | 1.5   | 1    |
  | service before plan          |     |         |       | 10    | 10      | 0  | 3     | 1    |
  | plan before its own entry    |     |         |       | 10    | 10      | 0  | 2     | 1    |
  | own entry before the base    |     | TWO     |       | 10    | 10      | 0  | 5     | 1    |
  | percentage of the base       |     | TWO     |       | 10    | 10      | 0  | 0.5   | 1    |
  | percentage with access       |     | ACCESS  |       | 10    | 10      | 0  | 1     | 1    |
  | overridden for the account   |     |         |       | 10    | 10      | 0  | 7     | 1    |
  | overridden for the one       |     |         |       | 10    | 10      | 0  | 8     | 1    |
  | least charge                 |     | LEAST   |       | 1     | 1       | 0  | 0.5   | 1    |
  | least charge                 |     | LEAST   |       | 9     | 9       | 0  | 0.9   | 1    |
  | least charge is affordable   |     | LEAST   |       | 1     | 0       | 0  | 0     | -1   |
  | volume that gets cheaper     |     | CHEAPER |       | 30    | 9       | 0  | 9     | 1    |
  | blocked                      |     |         |       | 10    | 0       | 0  | 0     | -3   |
  | no price                     |     | WEB     |       | 10    | 0       | 0  | 0     | -3   |
  | not yet active               |     |         |       | 10    | 0       | 0  | 0     | -11  |
`

const RATES: RateDocument[] = [
  rate('TENTH', price('0–∞ 0.1/1')),
  rate('FREE', price('0–∞ 0/1')),
  rate('MINUTE', price('0–∞ 1/60')),
  rate('ACCESS', { ...price('0–∞ 0.1/1'), access: 1 }),
  rate('LEAST', { ...price('0–∞ 0.1/1'), minimum_charge: 0.5 }),
  { ...rate('CHEAPER', price('0–10 1/1; 10–∞ 0.1/1')), pricing_method: 'volume' },
  { key: 'TWO', rates: { call: { BASE: price('0–∞ 0.1/1'), P: price('0–∞ 0.5/1') } } },
  { key: 'WEB', rates: { data: { BASE: price('0–∞ 0.1/1') } } },
]

interface SetUp {
  plan?: Partial<PlanDocument>
  services?: ServiceDocument[]
  includes?: Partial<PrepaidIncludeDocument>[]
  /** Buckets of the first subscriber; the number of an include is its position. */
  buckets?: BucketDocument[]
  account?: AccountDocument
  subscriber?: Partial<SubscriberDocument>
  usaget?: string
}

const UNITS = { charging_by: 'usagev', charging_by_usaget: 'call' } as const
const MONEY = { charging_by: 'total_cost', charging_by_usaget: 'total_cost' } as const
const PREPAID = { connection_type: 'prepaid' } as const
const tenTimes = (tiers: string) => ({ TENTH: { call: price(tiers) } })

const SET_UPS: Record<string, SetUp> = {
  'limit of the subscriber': { subscriber: { credit_limit: 5 } },
  'limit of the account': { account: { credit_limit: 5 }, subscriber: { credit_limit: 4 } },
  'closed cycles': { subscriber: { credit_limit: 5 } },
  'priority, then the end': {
    plan: PREPAID,
    includes: [
      { ...MONEY, priority: 1 },
      { ...UNITS, priority: 1 },
      { ...MONEY, priority: 0 },
    ],
    buckets: [
      { ...bucket(1, 2), to: '2026-01-20 00:00:00' },
      { ...bucket(2, 10), to: '2026-01-15 00:00:00' },
      bucket(3, 0.5),
    ],
  },
  'remainders are pooled': {
    plan: PREPAID,
    includes: [MONEY, { ...MONEY, charging_by: 'cost', charging_by_usaget: 'call' }],
    buckets: [bucket(1, 1.6), bucket(2, 1.5)],
  },
  'all or nothing': { plan: PREPAID, includes: [MONEY], buckets: [bucket(1, 2)] },
  'allowed in': {
    plan: PREPAID,
    includes: [{ ...UNITS, allowed_in: { P: ['MINUTE'], BASE: ['TENTH'] } }],
    buckets: [bucket(1, 100)],
  },
  'additional usage type': {
    plan: PREPAID,
    includes: [{ ...UNITS, additional_charging_usaget: ['data'] }],
    buckets: [bucket(1, 100)],
    usaget: 'data',
  },
  'shared with the account': {
    plan: PREPAID,
    includes: [{ ...UNITS, shared: true }],
    buckets: [bucket(1, 20)],
  },
  'group before bucket': {
    plan: { ...PREPAID, include: { groups: { G: { value: 6 } } } },
    includes: [MONEY],
    buckets: [bucket(1, 1)],
  },
  'money of groups, whole steps': {
    plan: { include: { groups: { G: { cost: 1.9 } } } },
  },
  'money of groups, access': {
    plan: { include: { groups: { G: { cost: 0.5 } } } },
  },
  'service before plan': {
    plan: { rates: tenTimes('0–∞ 0.2/1') },
    services: [{ name: 'S', rates: tenTimes('0–∞ 0.3/1') }],
    subscriber: { services: [{ name: 'S' }] },
  },
  'plan before its own entry': { plan: { rates: tenTimes('0–∞ 0.2/1') } },
  'own entry before the base': {},
  'percentage of the base': { plan: { rates: { TWO: { call: { percentage: 0.5 } } } } },
  'percentage with access': { plan: { rates: { ACCESS: { call: { percentage: 0.5 } } } } },
  'overridden for the account': { account: overriding('0–∞ 0.7/1') },
  'overridden for the one': {
    account: overriding('0–∞ 0.7/1'),
    subscriber: overriding('0–∞ 0.8/1'),
  },
  'least charge': {},
  'least charge is affordable': {
    plan: PREPAID,
    includes: [MONEY],
    buckets: [bucket(1, 0.4)],
  },
  'volume that gets cheaper': {
    plan: PREPAID,
    includes: [MONEY],
    buckets: [bucket(1, 9)],
  },
  blocked: { plan: { disallowed_rates: ['TENTH'] } },
  'no price': {},
  'not yet active': { subscriber: { activation_date: '2026-01-11 00:00:00' } },
}

const NAMES = new Set(readTable(ROWS).map((row) => row['case']!))

export const PAYER_CASES: QuoteCase[] = [...NAMES].map((name) => {
  const rows = readTable(ROWS).filter((row) => row['case'] === name)
  const setUp = SET_UPS[name]
  if (setUp === undefined) throw new Error(`there is no case ${name}`)
  const own = { sid: 1, aid: 1, plan: 'P', ...setUp.subscriber }
  return {
    name,
    catalogue: catalogueOf(setUp),
    account: { aid: 1, ...setUp.account },
    subscribers: [
      { ...own, buckets: setUp.buckets ?? [] },
      { ...own, sid: 2 },
    ],
    config: { time_zone: 'UTC', cycle_day: 1 },
    events: rows.map((row) => ({
      sid: Number(row['sid'] || 1),
      usaget: setUp.usaget ?? 'call',
      rate: row['rate']!.replace('!', '') || 'TENTH',
      usagev: Number(row['asked']),
      urt: `2026-${row['day'] || '01-10'}T12:00:00Z`,
      ...(row['rate']!.endsWith('!') ? { record_type: 'event_request' } : {}),
    })),
    expect: rows.map((row) => expectedOf(row)),
  }
})

function expectedOf(row: Record<string, string>) {
  const granted = Number(row['granted'])
  const amounts = { granted, aprice: Number(row['price']), returnCode: Number(row['code']) }
  return granted === 0 ? amounts : { ...amounts, in_group: Number(row['in']) }
}

function catalogueOf({ plan, services = [], includes = [] }: SetUp): Catalogue {
  return {
    rates: RATES,
    plans: [{ name: 'P', connection_type: 'postpaid', ...plan }],
    services,
    prepaidincludes: includes.map((include, index) => ({
      name: `B${index + 1}`,
      external_id: index + 1,
      priority: 1,
      ...UNITS,
      ...include,
    })),
  }
}

function overriding(tiers: string): Pick<AccountDocument, 'overrides'> {
  return { overrides: [{ type: 'plan', key: 'P', value: { rates: tenTimes(tiers) } }] }
}

function bucket(id: number, value: number): BucketDocument {
  return { pp_includes_external_id: id, value }
}

function rate(key: string, base: PriceDocument): RateDocument {
  return { key, rates: { call: { BASE: base } } }
}

function price(tiers: string): PriceDocument {
  return { rate: tiers.split(';').map(tierFrom) }
}
