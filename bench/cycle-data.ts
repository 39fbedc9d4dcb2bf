/** Accounts and offers of the benchmark of the billing cycle, as they are stored. */
import type { Catalog } from '../src/catalog/connection.ts'

export const BILLED_KEY = '202606'
const USAGE_LINES = 30
const FROM = new Date('2026-01-01T00:00:00Z')
const TO = new Date('2170-01-01T00:00:00Z')
const DAY_MS = 86_400_000
const USED = new Date('2026-05-02T10:00:00Z')
const TAXED = [{ type: 'vat', taxation: 'custom', custom_tax: 'VAT', custom_logic: 'override' }]

/** A plan, two services, and a discount of ten percent on the plan; tax VAT. */
export async function insertOffers(catalog: Catalog): Promise<void> {
  const common = { from: FROM, to: TO, rev: 1 }
  const offer = (name: string, price: number) => ({
    ...common,
    name,
    description: name,
    tax: TAXED,
    prorated: true,
    upfront: false,
    recurrence: { frequency: 1, start: 1 },
    price: [{ from: 0, to: 'UNLIMITED', price }],
  })
  const plan = { ...offer('GOLD', 29.9), connection_type: 'postpaid' }
  await catalog.plans.insertOne(plan as never)
  await catalog.services.insertMany([offer('TV', 9.99), offer('CLOUD', 4.5)] as never[])
  await catalog.discounts.insertOne({
    ...common,
    key: 'TENPCT',
    description: 'Ten percent',
    type: 'percentage',
    proration: 'inherited',
    params: {
      conditions: [{ subscriber: [{ fields: [{ field: 'plan', op: 'in', value: ['GOLD'] }] }] }],
    },
    subject: { plan: { GOLD: { value: 0.1 } } },
  } as never)
}

/** Every second account has two subscribers. */
export function accountDocuments(aid: number): { revisions: object[]; lines: object[] } {
  const common = { aid, from: FROM, to: TO, rev: 1 }
  const account = {
    ...common,
    type: 'account',
    firstname: 'Dana',
    lastname: `Levi ${aid}`,
    email: `a${aid}@example.org`,
    address: '1 Mill Road',
    country: 'UK',
  }
  const sids = aid % 2 === 0 ? [aid * 10, aid * 10 + 1] : [aid * 10]
  const subscribers = sids.map((sid) => ({
    ...common,
    type: 'subscriber',
    sid,
    plan: 'GOLD',
    plan_activation: FROM,
    activation_date: FROM,
    deactivation_date: TO,
    services: ['TV', 'CLOUD'].map((name) => ({ name, from: FROM, to: TO })),
  }))
  const lines = Array.from({ length: USAGE_LINES }, (_, index) =>
    usageLine(aid, sids[index % sids.length] as number, index),
  )
  return { revisions: [account, ...subscribers], lines }
}

/** As the recorder stores a session segment. */
function usageLine(aid: number, sid: number, index: number): object {
  const time = new Date(USED.getTime() + (index % 28) * DAY_MS)
  const tax = { tax: 0.17, amount: 0.0204, description: 'VAT', key: 'VAT', type: 'vat' }
  return {
    stamp: `${sid}-${index}`.padStart(32, '0'),
    v: 1,
    type: 'realtime',
    source: 'realtime',
    state: 'closed',
    late: false,
    aid,
    sid,
    origin: 'gateway-1',
    session_id: `session-${sid}-${index}`,
    plan: 'GOLD',
    billrun: BILLED_KEY,
    usaget: 'call',
    usagev: 72,
    in_group: 0,
    over_group: 0,
    out_group: 72,
    priced_usagev: 72,
    arategroups: [],
    rates: [
      { tariff_category: 'retail', key: 'CALL', add_to_retail: true, pricing: { charge: 0.12 } },
    ],
    arate_key: 'CALL',
    price_of: 'BASE',
    band: '',
    aprice: 0.12,
    aprice_micros: 120_000,
    final_charge: 0.1404,
    exact: { aprice: '0.12', tax: '0.0204', final_charge: '0.1404' },
    tax_data: {
      total_amount: 0.0204,
      total_tax: 0.17,
      taxes: [{ ...tax, pass_to_customer: 1 }],
    },
    group_cost: 0,
    group_cost_micros: 0,
    rating: [{ step: 'price', text: '72 seconds at 0.1 a minute' }],
    calling_number: '442070000001',
    called_number: '442070000002',
    urt: time,
    end_time: time,
    process_time: time,
  }
}
