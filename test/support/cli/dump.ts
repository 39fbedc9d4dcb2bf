/**
 * A dump of the system that is replaced, as `mongoexport` writes it: Extended JSON, canonical and
 * relaxed. The last run there was 202603, which charged February, and March ahead.
 */

const id = (digits: number) => ({ $oid: digits.toString(16).padStart(24, '0') })
const at = (day: string) => ({ $date: `${day}T00:00:00Z` })
const long = (number: number) => ({ $numberLong: String(number) })
const END = { $date: { $numberLong: String(Date.UTC(2175, 0, 1)) } }
const validity = { from: at('2025-06-01'), to: END }
const UNTAXED = [{ type: 'vat', taxation: 'no' }]
const always = (price: number) => [{ from: 0, to: 'UNLIMITED', price }]
const tier = (price: number, interval = 1) => ({
  from: 0,
  to: 'UNLIMITED',
  interval,
  price,
  uom_display: { range: 'seconds', interval: 'seconds' },
})

const TAXES = [
  {
    _id: id(1),
    from: at('2018-12-31'),
    to: END,
    key: 'DEFAULT_VAT',
    description: 'VAT',
    rate: { $numberDouble: '0.17' },
    embed_tax: false,
    params: [],
  },
]

const money = { charging_by: 'total_cost', charging_by_usaget: 'total_cost' }
const units = { charging_by: 'usagev', charging_by_usaget: 'data' }
const flags = { shared: false, unlimited: false, additional_charging_usaget: [], allowed_in: [] }
const PREPAID_INCLUDES = [
  {
    _id: id(10),
    ...validity,
    name: 'Main wallet',
    external_id: 7,
    priority: 1,
    ...money,
    ...flags,
  },
  {
    ...{ _id: id(11), ...validity, name: 'DATA_PACK', external_id: 8, priority: 50 },
    ...{ ...units, ...flags },
  },
]

const PREPAID_GROUPS = [
  {
    _id: id(20),
    ...validity,
    name: 'TOPUP20',
    description: 'Top up 20',
    operation: 'inc',
    charging_value: 20,
    include: [
      {
        operation: 'default',
        usagev: -20,
        period: { duration: 30, unit: 'days' },
        pp_includes_name: 'Main wallet',
        pp_includes_external_id: 7,
      },
    ],
  },
]

const rate = (number: number, key: string, days: object, call: object) => ({
  _id: id(number),
  ...validity,
  ...days,
  key,
  description: key,
  invoice_label: 'Calls',
  tariff_category: 'retail',
  add_to_retail: true,
  pricing_method: 'tiered',
  billable: true,
  rates: { call },
  params: { prefix: ['4420', '4421'] },
  tax: UNTAXED,
  rounding_rules: { rounding_type: 'None' },
})

/** The price has risen on 1 March. */
const RATES = [
  rate(31, 'CALL_LOCAL', { from: at('2026-03-01') }, { BASE: { access: 0.2, rate: [tier(0.1)] } }),
  rate(30, 'CALL_LOCAL', { to: at('2026-03-01') }, { BASE: { rate: [tier(0.05)] } }),
]

const SERVICES = [
  {
    _id: id(40),
    ...validity,
    name: 'TV_PACK',
    description: 'TV',
    price: always(10),
    prorated: true,
    quantitative: true,
    balance_period: 'default',
    vatable: true,
    recurrence: { periodicity: 'month' },
    limit_cycles: null,
    include: { groups: [] },
    rates: [],
    tax: UNTAXED,
  },
]

const plan = (number: number, name: string, more: object) => ({
  _id: id(number),
  ...validity,
  name,
  description: name,
  connection_type: 'postpaid',
  charging_type: 'postpaid',
  upfront: false,
  recurrence: { frequency: 1, start: 1 },
  price: always(25),
  prorated_start: true,
  prorated_end: true,
  prorated_termination: true,
  include: [],
  rates: [],
  tax: UNTAXED,
  ...more,
})
const CALLS = {
  value: 6000,
  usage_types: { call: { unit: 'minutes' } },
  rates: ['CALL_LOCAL'],
  account_shared: false,
  account_pool: false,
  quantity_affected: false,
}
/** Free in the first two months. */
const GOLD = {
  price: [
    { from: 0, to: 2, price: 0, trial: true },
    { from: 2, to: 'UNLIMITED', price: 25 },
  ],
  include: { groups: { CALLS100: CALLS } },
}

const PLANS = [
  plan(50, 'GOLD', { ...GOLD, to: at('2026-02-01') }),
  plan(51, 'GOLD', { ...GOLD, from: at('2026-02-01') }),
  plan(52, 'AHEAD', { upfront: true, price: always(30) }),
  plan(53, 'PREPAID', {
    connection_type: 'prepaid',
    charging_type: 'prepaid',
    price: always(0),
    pp_threshold: { 7: -100 },
  }),
]

const DISCOUNTS = [
  {
    _id: id(60),
    ...validity,
    key: 'TENPCT',
    description: '10 % on TV',
    type: 'percentage',
    proration: 'inherited',
    params: {
      conditions: [{ subscriber: [{ fields: [{ field: 'plan', op: 'in', value: ['GOLD'] }] }] }],
    },
    subject: { service: { TV_PACK: { value: 0.1 } } },
  },
]

const CHARGES = [
  {
    _id: id(61),
    ...validity,
    key: 'REMINDER',
    description: 'Reminder fee',
    type: 'monetary',
    params: {
      conditions: [{ account: { fields: [{ field: 'aid', op: 'in', value: [4711] }] } }],
    },
    subject: { general: { value: 5 } },
  },
]

const account = (number: number, aid: number, more: object = {}) => ({
  _id: id(number),
  ...validity,
  type: 'account',
  aid: long(aid),
  creation_time: at('2025-06-01'),
  activation_date: at('2025-06-01'),
  firstname: 'Ada',
  lastname: 'Byron',
  email: 'ada@example.org',
  country: 'UK',
  address: '1 Mill Rd',
  zip_code: 'AB1',
  invoice_shipping_method: 'email',
  invoice_detailed: false,
  invoice_language: 'en_GB',
  in_collection: false,
  ...more,
})
/** The address has changed. */
const ACCOUNTS = [
  account(70, 17, { to: at('2026-02-15'), address: '9 Old St' }),
  account(71, 17, { from: at('2026-02-15') }),
  account(72, 30),
]

const tv = {
  name: 'TV_PACK',
  from: at('2026-01-10'),
  to: END,
  service_id: long(1_700_000_000_000_002),
  creation_time: at('2026-01-10'),
  quantity: 2,
}
const subscriber = (number: number, sid: number, more: object) => ({
  _id: id(number),
  ...validity,
  type: 'subscriber',
  sid: { $numberInt: String(sid) },
  aid: 17,
  creation_time: at('2025-06-01'),
  activation_date: at('2025-06-01'),
  deactivation_date: END,
  plan_deactivation: END,
  plan_activation: at('2025-06-01'),
  firstname: 'Ada',
  lastname: 'Byron',
  address: '1 Mill Rd',
  country: 'UK',
  services: [],
  overrides: [],
  ...more,
})
/** The revisions of 18 are not in order, and its first one, before 2026, is missing. */
const SUBSCRIBERS = [
  subscriber(81, 18, { from: at('2026-03-01'), plan: 'GOLD', services: [tv] }),
  subscriber(80, 18, {
    ...{ from: at('2026-01-10'), to: at('2026-03-01') },
    ...{ plan: 'GOLD', former_plan: 'PREPAID', services: [{ ...tv, quantity: 1 }] },
  }),
  subscriber(82, 19, { plan: 'PREPAID' }),
  subscriber(83, 20, { plan: 'AHEAD' }),
]

const prepaid = {
  aid: 17,
  sid: 19,
  from: at('2026-02-01'),
  to: { $date: '2099-03-31T23:59:59Z' },
  connection_type: 'prepaid',
  tx: {},
  shared: false,
  unlimited: false,
}
const wallet = {
  ...{ ...prepaid, pp_includes_external_id: 7, pp_includes_name: 'Main wallet' },
  ...{ ...money, priority: 1 },
}
const cycle = { from: at('2026-03-01'), to: at('2026-04-01') }
const counted = {
  ...{ aid: 17, sid: 18, ...cycle, connection_type: 'postpaid' },
  ...{ period: 'default', start_period: 'default', priority: 0, tx: [] },
}
const used = (usagev: number) => ({ usagev, count: 7, left: 6000 - usagev, total: 6000 })

/** Three that are imported, and one for each reason why it is not. */
const BALANCES = [
  { _id: id(90), ...wallet, balance: { cost: -12.499999999999998 } },
  {
    ...{ _id: id(91), ...prepaid, pp_includes_external_id: 8, pp_includes_name: 'DATA_PACK' },
    ...{ ...units, priority: 60 },
    balance: { totals: { data: { usagev: long(-1_073_741_824) } } },
  },
  {
    ...{ _id: id(92), ...counted, current_plan: { $ref: 'plans', $id: id(51) } },
    balance: {
      cost: 3.5,
      totals: { call: { usagev: 5940, cost: 3.5, count: 7 } },
      groups: { CALLS100: used(5940) },
    },
  },
  { _id: id(93), ...wallet, to: at('2026-03-02'), balance: { cost: -1 } },
  { _id: id(94), ...wallet, balance: { cost: 0.5 } },
  { _id: id(95), ...wallet, sid: 99, balance: { cost: -1 } },
  { _id: id(96), ...wallet, ...units, balance: { totals: { data: { usagev: -1 } } } },
  { _id: id(97), ...counted, balance: { cost: 0, groups: { NONE: used(1) } } },
  { _id: id(98), ...counted, to: at('2026-05-01'), balance: { cost: 1 } },
  { _id: 'x', ...wallet, balance: { cost: -1 } },
]

/** March of subscriber 20, which was paid ahead. */
const LINES = [
  {
    stamp: 'a1b2',
    ...{ type: 'flat', aid: 17, sid: 20, plan: 'AHEAD', name: 'AHEAD', billrun: '202603' },
    ...{ aprice: 30, full_price: 30, is_upfront: true, charge_op: 'charge' },
    ...{ start: cycle.from, end: cycle.to },
  },
]

export const DUMP: Readonly<Record<string, readonly object[]>> = {
  taxes: TAXES,
  prepaidincludes: PREPAID_INCLUDES,
  prepaidgroups: PREPAID_GROUPS,
  rates: RATES,
  services: SERVICES,
  plans: PLANS,
  discounts: DISCOUNTS,
  charges: CHARGES,
  accounts: ACCOUNTS,
  subscribers: SUBSCRIBERS,
  balances: BALANCES,
  lines: LINES,
}

export function linesOf(documents: readonly object[]): string {
  return documents.map((document) => `${JSON.stringify(document)}\n`).join('')
}
