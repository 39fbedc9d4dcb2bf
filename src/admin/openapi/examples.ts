/** Realistic examples of all requests. Together they create a small tenant. */
import type { ActionName, CollectionDefinition } from '../../entities/definitions/definition.ts'
import { answersNull, hasTrait } from '../../entities/definitions/traits.ts'
import {
  BEGIN_S,
  EVENT_STAMP,
  FOREVER_S,
  RECORDS,
  TOP_UP_LINE,
  type Values,
} from './record-examples.ts'
import type { ResponseKind } from './response-schemas.ts'

const BEGIN = { from: '2026-01-01' } as const
const UNLIMITED = [{ from: 0, to: 'UNLIMITED', price: 25 }]
const MONTHLY = { frequency: 1, start: 1 }
const PERSON = { firstname: 'Ada', lastname: 'Byron', country: 'UK', address: '1 Mill Road' }

/** `update` of `create`, by collection. */
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

/** Filters of reads, by collection. */
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
  audit: { collection: 'plans', urt: { $gte: '2026-03-01' } },
  events: { 'extra_params.aid': 1, creation_time: { $gte: '2026-03-01' } },
}

/** Subjects of erasures. */
const ERASED: Readonly<Record<string, Values>> = {
  accounts: { aid: 1 },
  subscribers: { sid: 2 },
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

/** Parameters of a request; for an import, without the file. */
export function exampleOf(collection: string, action: ActionName): Values {
  const changed = CHANGED[collection] ?? { description: 'Another one' }
  const from = { from: '2026-05-01' }
  switch (action) {
    case 'get':
    case 'uniqueget':
      return { query: FOUND[collection] ?? {}, page: 0, size: 10 }
    case 'create':
      return { update: CREATED[collection] ?? {} }
    case 'update':
      return TOP_UPS[collection] ?? { query: ID, update: changed }
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
    case 'erase':
      return { query: ERASED[collection] ?? {}, update: { force: false } }
    case 'resend':
      return { query: { 'delivery.state': 'dead', event_code: 'MINUTES_80' } }
    case 'export':
      return { query: from, states: [0, 1], format: 'csv' }
    default:
      return { update: IMPORTED[collection] ?? { map: { name: '__csvindex__0' } } }
  }
}

/** Settings of an import; these fields are its first columns. */
const IMPORTED: Readonly<Record<string, Values>> = {
  accounts: { map: { firstname: '__csvindex__0', lastname: '__csvindex__1' } },
  subscribers: {
    map: { firstname: '__csvindex__0', lastname: '__csvindex__1' },
    linker: { field: 'aid', value: '__csvindex__2' },
  },
  rates: { importType: 'predefined_mapping' },
}

/** Credit is negative in this interface. */
const TOP_UPS: Readonly<Record<string, Values>> = {
  balances: {
    query: { sid: 2, pp_includes_external_id: 7 },
    update: { value: -20, operation: 'inc' },
  },
}

const HEX = ID._id

/** Fields that the node adds to documents or that only the node writes. */
const ADDED: Readonly<Record<string, Values>> = {
  accounts: { aid: 1, invoice_shipping_method: 'email', invoice_language: 'en_GB' },
  subscribers: {
    sid: 2,
    plan_activation: BEGIN_S,
    plan_deactivation: FOREVER_S,
    services: [
      {
        name: 'TV_PACK',
        from: BEGIN_S,
        to: FOREVER_S,
        creation_time: BEGIN_S,
        service_id: 1_712_345_678_901_234,
      },
    ],
  },
  autorenew: { next_renew: 1_769_904_000, cycles_remaining: 12, operation: 'inc' },
}

const NEVER_SHOWN: ReadonlySet<string> = new Set(['password'])
const PERIOD = { from: BEGIN_S, to: FOREVER_S }
/** Times of documents without revisions, in place of the period and the time of creation. */
const PERIODS: Readonly<Record<string, Values>> = {
  balances: PERIOD,
  lines: {},
  bills: {},
  audit: {},
  events: {},
}

/** A document in a response. */
export function responseExample(
  { name, fixed }: CollectionDefinition,
  responseKind: ResponseKind,
): Record<string, unknown> {
  const exists = { activation_date: BEGIN_S, deactivation_date: FOREVER_S }
  const document = {
    ...fixed,
    ...(fixed['type'] !== undefined && exists),
    ...CREATED[name],
    ...ADDED[name],
    ...RECORDS[name],
    ...(PERIODS[name] ?? { ...PERIOD, creation_time: BEGIN_S }),
  }
  const visible = Object.entries(document).filter(([field]) => !NEVER_SHOWN.has(field))
  const dates = TEXT_DATES[name] ?? []
  const fields = visible.map(
    ([field, value]) => [field, responseValue(value, field, responseKind, dates)] as const,
  )
  return { _id: { $id: HEX }, ...Object.fromEntries(fields) }
}

const DATES = /^(?:from|to|urt|due|.*_(?:time|date|activation|deactivation|renew))$/
const DATE_TEXTS: Readonly<Record<number, string>> = {
  [BEGIN_S]: '2026-01-01T00:00:00+0000',
  [FOREVER_S]: '2170-01-01T00:00:00+0000',
  1769904000: '2026-02-01T00:00:00+0000',
}
const ALWAYS_TEXTS = ['from', 'to', 'creation_time']
const TEXT_DATES: Readonly<Record<string, readonly string[]>> = {
  autorenew: ['next_renew'],
  audit: ['urt'],
  events: ['due'],
}

function responseValue(
  value: unknown,
  field: string,
  responseKind: ResponseKind,
  dates: readonly string[],
): unknown {
  if (Array.isArray(value))
    return value.map((each) => responseValue(each, field, responseKind, dates))
  if (typeof value === 'number' && DATES.test(field) && value > BEGIN_S - 1) {
    const isText = ALWAYS_TEXTS.includes(field) || dates.includes(field)
    const text = DATE_TEXTS[value]
    return responseKind === 'read' && isText ? text : { sec: value, usec: 0 }
  }
  if (typeof value !== 'object' || value === null) return value
  const parts = Object.entries(value).map(([name, part]) => {
    return [name, responseValue(part, name, responseKind, dates)] as const
  })
  return parts.length === 0 ? [] : Object.fromEntries(parts)
}

/** A job that has not started. */
function jobExample({ name }: CollectionDefinition): Values {
  const now = { sec: BEGIN_S, usec: 0 }
  const [key] = Object.values(ERASED[name] ?? {})
  return {
    _id: { $id: HEX },
    kind: 'erase',
    subject: `${name}/${key}`,
    state: 'queued',
    step: 'begin',
    counts: [],
    error: '',
    due: now,
    created: now,
    changed: now,
    ended: null,
  }
}

/** Response to a successful write. */
export function writeResponseExample(definition: CollectionDefinition, action: ActionName): Values {
  const entity =
    action === 'erase'
      ? jobExample(definition)
      : action === 'delete' || action === 'resend'
        ? null
        : responseExample(definition, 'written')
  const done = { status: 1, details: answersNull(definition, action) ? null : true, entity }
  if (action === 'resend') return { ...done, resent: [EVENT_STAMP], left: [], more: false }
  if (action === 'permanentchange') return { ...done, totalUpdated: 1, totalCreated: 1 }
  if (!hasTrait(definition, 'writesLine')) return done
  const line = Object.entries(TOP_UP_LINE).map(([field, value]) => {
    return [field, responseValue(value, field, 'written', [])] as const
  })
  return { ...done, line: Object.fromEntries(line) }
}
