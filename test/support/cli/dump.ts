/** A dump of the existing system as `mongoexport` writes it, in Extended JSON. */

const id = (digits: number) => ({ $oid: digits.toString(16).padStart(24, '0') })
const at = (day: string) => ({ $date: `${day}T00:00:00Z` })
const long = (number: number) => ({ $numberLong: String(number) })
const validity = { from: at('2026-01-01'), to: at('2175-01-01') }
const tier = (price: number, interval = 1) => ({
  from: 0,
  to: 'UNLIMITED',
  interval,
  price,
  uom_display: { range: 'seconds', interval: 'seconds' },
})

const RATES = [
  {
    _id: id(1),
    ...validity,
    key: 'CALL_LOCAL',
    description: 'Local call',
    invoice_label: 'Calls',
    tariff_category: 'retail',
    add_to_retail: true,
    pricing_method: 'tiered',
    billable: true,
    rates: {
      call: { BASE: { access: 0.2, rate: [tier(0.1)] }, SILVER: { rate: [tier(1, 60)] } },
    },
    params: { prefix: ['4420', '4421'] },
    tax: [{ type: 'vat', taxation: 'global' }],
    rounding_rules: { rounding_type: 'None' },
  },
]

const SERVICES = [
  {
    _id: id(2),
    ...validity,
    name: 'TV_PACK',
    description: 'TV',
    price: [{ from: 0, to: 'UNLIMITED', price: 10 }],
    prorated: true,
    quantitative: true,
    balance_period: 'default',
    vatable: true,
    recurrence: { periodicity: 'month' },
    limit_cycles: null,
    include: { groups: {} },
    rates: {},
    tax: [{ type: 'vat', taxation: 'global' }],
  },
]

const plan = (name: string, number: number, days: object) => ({
  _id: id(number),
  ...validity,
  ...days,
  name,
  description: name,
  connection_type: 'prepaid',
  charging_type: 'prepaid',
  upfront: false,
  recurrence: { frequency: 1, start: 1 },
  price: [
    { from: 0, to: 2, price: 0, trial: true },
    { from: 2, to: 'UNLIMITED', price: number },
  ],
  prorated_start: true,
  prorated_end: true,
  prorated_termination: true,
  include: {
    groups: {
      CALLS100: {
        value: 6000,
        usage_types: { call: { unit: 'minutes' } },
        rates: ['CALL_LOCAL'],
        account_shared: false,
        account_pool: false,
        quantity_affected: false,
      },
    },
  },
  tax: [{ type: 'vat', taxation: 'global' }],
  pp_threshold: { 7: -100 },
})

/** Two revisions of one plan. */
const PLANS = [
  plan('GOLD', 3, { to: at('2026-03-01') }),
  plan('GOLD', 4, { from: at('2026-03-01') }),
  plan('SILVER', 5, {}),
]

const ACCOUNTS = [
  {
    _id: id(6),
    ...validity,
    type: 'account',
    aid: 17,
    creation_time: at('2026-01-01'),
    firstname: 'Ada',
    lastname: 'Byron',
    email: 'ada@example.org',
    country: 'UK',
    address: '1 Mill Rd',
    invoice_shipping_method: 'email',
    invoice_detailed: false,
    invoice_language: 'en_GB',
    in_collection: false,
  },
]

const SUBSCRIBERS = [
  {
    _id: id(7),
    type: 'subscriber',
    sid: 18,
    aid: 17,
    from: at('2026-01-10'),
    to: at('2175-01-10'),
    creation_time: at('2026-01-10'),
    plan: 'GOLD',
    plan_activation: at('2026-01-10'),
    plan_deactivation: at('2175-01-10'),
    activation_date: at('2026-01-10'),
    deactivation_date: at('2175-01-10'),
    firstname: 'Ada',
    lastname: 'Byron',
    address: '1 Mill Rd',
    country: 'UK',
    services: [
      {
        name: 'TV_PACK',
        from: at('2026-01-10'),
        to: at('2175-01-10'),
        service_id: long(1_700_000_000_000_002),
        creation_time: at('2026-01-10'),
        quantity: 2,
      },
    ],
    overrides: [],
  },
]

const prepaid = {
  aid: 17,
  sid: 18,
  from: at('2026-03-01'),
  to: { $date: '2099-03-31T23:59:59Z' },
  connection_type: 'prepaid',
  tx: {},
  shared: false,
  unlimited: false,
}
const wallet = {
  ...prepaid,
  pp_includes_external_id: 7,
  pp_includes_name: 'Main wallet',
  charging_by: 'total_cost',
  charging_by_usaget: 'total_cost',
  priority: 1,
}

/** Two that are imported, and one for each reason why it is not. */
const BALANCES = [
  { _id: id(8), ...wallet, balance: { cost: -12.5 } },
  {
    ...{ _id: id(9), ...prepaid, pp_includes_external_id: 8, pp_includes_name: 'DATA_PACK' },
    ...{ charging_by: 'usagev', charging_by_usaget: 'data', priority: 50 },
    balance: { totals: { data: { usagev: long(-1_073_741_824) } } },
  },
  {
    ...{ _id: id(10), aid: 17, sid: 18, from: at('2026-03-01'), to: at('2026-04-01') },
    ...{ connection_type: 'postpaid', period: 'default', start_period: 'default', priority: 0 },
    balance: { cost: 11, totals: { call: { usagev: 112, cost: 11, count: 1 } } },
  },
  { _id: id(11), ...wallet, to: at('2026-03-02'), balance: { cost: -1 } },
  { _id: id(12), ...wallet, from: at('2099-01-01'), balance: { cost: -1 } },
  { _id: id(13), ...wallet, balance: { cost: 0.5 } },
  { _id: id(14), ...wallet, sid: 99, balance: { cost: -1 } },
]

export const DUMP: Readonly<Record<string, readonly object[]>> = {
  rates: RATES,
  services: SERVICES,
  plans: PLANS,
  accounts: ACCOUNTS,
  subscribers: SUBSCRIBERS,
  balances: BALANCES,
}

export function linesOf(collection: string): string {
  return (DUMP[collection] ?? []).map((document) => `${JSON.stringify(document)}\n`).join('')
}
