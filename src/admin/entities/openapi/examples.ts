/** An example of each request, as a person would send it. All together they make a small tenant. */
import type { ActionName } from '../definition.ts'

type Values = Readonly<Record<string, unknown>>

const BEGIN = { from: '2026-01-01' } as const
const UNLIMITED = [{ from: 0, to: 'UNLIMITED', price: 25 }]
const MONTHLY = { frequency: 1, start: 1 }
const PERSON = { firstname: 'Ada', lastname: 'Byron', country: 'UK', address: '1 Mill Road' }

/** `update` of a create, by collection. */
export const CREATED: Readonly<Record<string, Values>> = {
  taxes: { ...BEGIN, key: 'DEFAULT_VAT', description: 'VAT', rate: 0.17, embed_tax: false },
  rates: {
    ...BEGIN,
    key: 'CALL_LOCAL',
    description: 'Local calls',
    pricing_method: 'tiered',
    tariff_category: 'retail',
    params: { prefix: ['4420', '4421'] },
    rates: {
      call: { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: 60, price: 0.1 }] } },
    },
  },
  prepaidincludes: {
    ...BEGIN,
    name: 'Main wallet',
    external_id: 7,
    priority: 1,
    charging_by: 'total_cost',
    charging_by_usaget: 'total_cost',
  },
  prepaidgroups: {
    ...BEGIN,
    name: 'TOPUP20',
    description: 'Top up 20',
    operation: 'inc',
    charging_value: 20,
    include: [{ pp_includes_external_id: 7, value: -20, period: { duration: 30, unit: 'days' } }],
  },
  services: {
    ...BEGIN,
    name: 'TV_PACK',
    description: 'Television',
    price: UNLIMITED,
    prorated: true,
    recurrence: MONTHLY,
  },
  plans: {
    ...BEGIN,
    name: 'GOLD',
    description: 'Gold',
    connection_type: 'postpaid',
    upfront: false,
    price: UNLIMITED,
    recurrence: MONTHLY,
    include: { groups: { CALLS100: { value: 6000, usage_types: { call: {} } } } },
  },
  accounts: { ...BEGIN, ...PERSON, email: 'ada@example.org', zip_code: 'AB1' },
  subscribers: {
    ...BEGIN,
    ...PERSON,
    aid: 1,
    plan: 'GOLD',
    msisdn: '447700900001',
    services: [{ name: 'TV_PACK' }],
  },
  charges: { ...BEGIN, key: 'LATE_FEE', description: 'Late', subject: { general: { value: 5 } } },
  discounts: {
    ...BEGIN,
    key: 'TENPCT',
    description: 'A tenth off Gold',
    type: 'percentage',
    subject: { plan: { GOLD: { value: 0.1 } } },
  },
  reports: { key: 'usage_by_plan', entity: 'usage', type: 1, columns: [], conditions: [] },
  users: { username: 'ops@example.org', password: 'a long password', roles: ['read', 'write'] },
  autorenew: { aid: 1, sid: 2, bucket_group: 'TOPUP20', cycles: 12, interval: 'month' },
}

/** What a filter asks for, by collection. */
const FOUND: Readonly<Record<string, Values>> = {
  accounts: { aid: 1 },
  subscribers: { aid: 1 },
  plans: { name: 'GOLD' },
  services: { name: 'TV_PACK' },
  rates: { key: { $regex: '^CALL' } },
  balances: { aid: 1, sid: 2 },
  bills: { aid: 1, type: 'inv' },
  lines: { sid: 2, urt: { $gte: '2026-03-01' } },
  charges: { key: 'LATE_FEE' },
  discounts: { key: 'TENPCT' },
  prepaidincludes: { name: 'Main wallet' },
  prepaidgroups: { name: 'TOPUP20' },
  taxes: { key: 'DEFAULT_VAT' },
  reports: { key: 'usage_by_plan' },
  users: { username: 'ops@example.org' },
  autorenew: { sid: 2 },
}

const ID = { _id: '65f0c0ffee0123456789abcd' } as const

const CHANGED: Readonly<Record<string, Values>> = {
  accounts: { address: '2 Mill Road' },
  subscribers: { services: [] },
  rates: { description: 'Calls within the country' },
  bills: { due_date: '2026-04-30' },
  prepaidincludes: { priority: 2 },
  taxes: { rate: 0.2 },
  reports: { type: 0 },
  users: { roles: ['read'] },
  autorenew: { next_renew: '2026-05-01' },
}

/** The body of a request; null: it needs a file. */
export function exampleOf(collection: string, action: ActionName): Values | null {
  const changed = CHANGED[collection] ?? { description: 'Another one' }
  const from = { from: '2026-05-01' }
  switch (action) {
    case 'get':
    case 'uniqueget':
      return { query: FOUND[collection] ?? {}, page: 0, size: 10 }
    case 'create':
      return { update: CREATED[collection] ?? {} }
    case 'update':
      return collection === 'balances' ? topUp() : { query: ID, update: changed }
    case 'close':
      return { query: ID, update: { to: '2026-05-01' } }
    case 'reopen':
    case 'move':
      return { query: ID, update: from }
    case 'closeandnew':
    case 'permanentchange':
      return { query: ID, update: { ...from, ...changed } }
    case 'delete':
      return { query: ID }
    case 'export':
      return { query: from, states: [0, 1] }
    default:
      return null
  }
}

/** Credit is negative here. */
function topUp(): Values {
  return { query: { sid: 2, pp_includes_external_id: 7 }, update: { value: -20, operation: 'inc' } }
}
